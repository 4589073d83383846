package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/docgen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/soak"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/transform"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

func newGendocs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "gendocs DIR",
		Short:  "Write the reference pages",
		Args:   takes(1, 1),
		Hidden: true,
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			pages, err := referencePages(cmd.Root())
			if err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(pages)) {
				if err := os.WriteFile(filepath.Join(args[0], name), pages[name], 0o644); err != nil {
					return fmt.Errorf("write reference page: %w", err)
				}
			}
			return nil
		}),
	}
}

// referencePages returns the generated pages of docs by file name.
func referencePages(root *cobra.Command) (map[string][]byte, error) {
	parts, err := newApp(&terminal{}).concretes()
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
	profile, err := grading.ReadProfile()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"reference-profile.md":      docgen.Profile(profile),
		"scale.md":                  scale,
		"commands.md":               docgen.Commands(root),
		"steps.md":                  docgen.Steps(parts.kinds),
		"language.md":               docgen.Language(parts.functions),
		"metrics.md":                docgen.Metrics(metric.All()),
		"preparation.md":            docgen.Transforms(transform.Verbs()),
		"reference-competitions.md": shipped,
	}, nil
}
