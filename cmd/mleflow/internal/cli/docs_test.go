package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dev/docgen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dev/soak"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading/profile"
	"github.com/mleflow/mleflow/plugins/data/transform"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// TestReferencePages fails when a page of docs is not what is generated now;
// make docs writes them again.
func TestReferencePages(t *testing.T) {
	pages, err := referencePages(newRoot(app.NewApp(&app.Terminal{})))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		path := filepath.Join("..", "..", "..", "..", "docs", name)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Error(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("docs/%s is out of date, run make docs (-have +want):\n%s", name, diff)
		}
	}
}

// referencePages returns the generated pages of docs by file name.
func referencePages(root *cobra.Command) (map[string][]byte, error) {
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
	shipped, err := docgen.Competitions(catalog, metric.All())
	if err != nil {
		return nil, err
	}
	answers, err := profile.Read()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"reference-profile.md":      docgen.Profile(answers),
		"scale.md":                  scale,
		"mleflow.1":                 manPage(root),
		"commands.md":               docgen.Commands(root),
		"steps.md":                  docgen.Steps(parts.Kinds),
		"language.md":               docgen.Language(parts.Functions),
		"metrics.md":                docgen.Metrics(metric.All()),
		"preparation.md":            docgen.Transforms(transform.Verbs()),
		"reference-competitions.md": shipped,
	}, nil
}
