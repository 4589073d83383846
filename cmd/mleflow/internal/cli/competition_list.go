package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
)

func newCompetitionList(a *app) *cobra.Command {
	var set setFlags
	var category string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the competitions",
		Args:  takes(0, 0),
		RunE: a.action(func(*cobra.Command, []string) error {
			catalog, err := a.catalog()
			if err != nil {
				return err
			}
			filter := competitions.Filter{Category: category}
			if set.given() {
				if filter.IDs, err = set.ids(catalog); err != nil {
					return usageError{err}
				}
			}
			defs, err := catalog.List(filter)
			if err != nil {
				return err
			}
			return showCompetitions(a.terminal, defs)
		}),
	}
	set.register(cmd)
	cmd.Flags().StringVar(&category, "category", "", "only this `CATEGORY`, such as image-classification")
	return cmd
}

// competitionJSON is one competition in competition list --json.
type competitionJSON struct {
	ID            string                  `json:"id"`
	Title         string                  `json:"title"`
	Category      string                  `json:"category"`
	Complexity    competitions.Complexity `json:"complexity"`
	Metric        string                  `json:"metric"`
	LowerIsBetter bool                    `json:"is_lower_better"`
	SizeGB        float64                 `json:"size_gb,omitempty"`
	Versions      []string                `json:"versions"`
	Params        []string                `json:"params"`
}

func toCompetitionJSON(d *competitions.Definition) competitionJSON {
	return competitionJSON{ID: d.ID, Title: d.Title, Category: d.Category, Complexity: d.Complexity, Metric: d.Facts.MetricName,
		LowerIsBetter: d.Medals.LowerIsBetter, SizeGB: d.Facts.SizeGB, Versions: d.Versions(), Params: d.ParamNames()}
}

func showCompetitions(term *terminal, defs []*competitions.Definition) error {
	if term.json {
		out := []competitionJSON{}
		for _, d := range defs {
			out = append(out, toCompetitionJSON(d))
		}
		return writeJSON(term.stdout, map[string]any{"competitions": out})
	}
	t := view.NewTable("Competition", "Complexity", "Category", "Metric", ">Size")
	for _, d := range defs {
		t.Row(d.ID, string(d.Complexity), d.Category, d.Facts.MetricName, sizeText(d.Facts.SizeGB))
	}
	if err := t.Write(term.stdout, term.outStyle()); err != nil {
		return err
	}
	fmt.Fprintf(term.stdout, "\n%s.\n", view.Plural(len(defs), "competition"))
	return nil
}

// sizeText writes a size in units of 10⁹ bytes; "" when it is not known.
func sizeText(gb float64) string {
	switch {
	case gb == 0:
		return ""
	case gb < 0.1:
		return fmt.Sprintf("%.1f MB", gb*1000)
	default:
		return fmt.Sprintf("%.1f GB", gb)
	}
}
