// Command docgen writes the reference pages of docs from what the program itself
// knows: commands from their flags, step kinds from their schemas, the language from its
// block and function tables, metrics and verbs from their registries, and the JSON
// Schemas of what commands print from the types that they print.
//
//	docgen -o docs
//
// TestUpToDate fails when the files differ from what it writes.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dev/soak"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading/profile"
	"github.com/mleflow/mleflow/plugins/data/transform"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

func main() {
	out := flag.String("o", "docs", "folder of the documentation")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

// openAPIFile is where the program embeds the OpenAPI document, seen from docs.
const openAPIFile = "../cmd/mleflow/internal/cli/serve/openapi.json"

func write(dir string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the generated files of docs by name.
func generate() (map[string][]byte, error) {
	parts, err := app.NewApp(&app.Terminal{}).Concretes()
	if err != nil {
		return nil, err
	}
	scale, err := soak.Page(context.Background())
	if err != nil {
		return nil, err
	}
	catalog, err := competitions.Shipped()
	if err != nil {
		return nil, err
	}
	shipped, err := competitionsPage(catalog, metric.All())
	if err != nil {
		return nil, err
	}
	held, err := validationPage(catalog)
	if err != nil {
		return nil, err
	}
	answers, err := profile.Read()
	if err != nil {
		return nil, err
	}
	files, err := schemas()
	if err != nil {
		return nil, err
	}
	api, err := openAPI()
	if err != nil {
		return nil, err
	}
	root := cli.NewRoot(app.NewApp(&app.Terminal{}))
	maps.Copy(files, map[string][]byte{
		"reference-profile.md":      profilePage(answers),
		"scale.md":                  scale,
		"reference-serve.md":        servePage(),
		openAPIFile:                 api,
		"mleflow.1":                 manual(root),
		"commands.md":               commandsPage(root),
		"steps.md":                  stepsPage(parts.Kinds),
		"language.md":               languagePage(parts.Functions),
		"metrics.md":                metricsPage(metric.All()),
		"reference-definition.md":   blocksPage(),
		"preparation.md":            verbsPage(transform.Verbs()),
		"reference-competitions.md": shipped,
		"holdout.md":                held,
	})
	return files, nil
}
