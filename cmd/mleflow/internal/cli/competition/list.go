package competition

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
)

func newCompetitionList(a *app.App) *cobra.Command {
	var set app.SetFlags
	var category string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the competitions",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(*cobra.Command, []string) error {
			catalog, err := a.Catalog()
			if err != nil {
				return err
			}
			filter := competitions.Filter{Category: category}
			if set.Given() {
				if filter.IDs, err = set.Ids(catalog); err != nil {
					return app.Wrong(err)
				}
			}
			defs, err := catalog.List(filter)
			if err != nil {
				return err
			}
			return showCompetitions(a.Terminal, defs)
		}),
	}
	set.Register(cmd)
	cmd.Flags().StringVar(&category, "category", "", "only this `CATEGORY`, such as image-classification")
	return cmd
}

// CompetitionJSON is one competition in competition list --json.
type CompetitionJSON struct {
	ID            string                  `json:"id"`
	Title         string                  `json:"title"`
	Category      string                  `json:"category"`
	Complexity    competitions.Complexity `json:"complexity"`
	Metric        string                  `json:"metric"`
	LowerIsBetter bool                    `json:"is_lower_better"`
	SizeGB        float64                 `json:"size_gb,omitempty"`
	Versions      []string                `json:"versions"`
	Params        []string                `json:"params"`
	// PublicLabels are the collections that have labels of hidden rows.
	PublicLabels []competitions.PublicLabels `json:"public_labels,omitempty"`
}

func toCompetitionJSON(d *competitions.Definition) CompetitionJSON {
	return CompetitionJSON{ID: d.ID, Title: d.Title, Category: d.Category, Complexity: d.Complexity, Metric: d.Facts.MetricName,
		LowerIsBetter: d.Medals.LowerIsBetter, SizeGB: d.Facts.SizeGB, Versions: d.Versions(), Params: d.ParamNames(), PublicLabels: d.PublicLabels}
}

func showCompetitions(term *app.Terminal, defs []*competitions.Definition) error {
	out := []CompetitionJSON{}
	t := view.NewTable("Competition", "Complexity", "Category", "Metric", ">Size")
	for _, d := range defs {
		out = append(out, toCompetitionJSON(d))
		t.Row(d.ID, string(d.Complexity), d.Category, d.Facts.MetricName, sizeText(d.Facts.SizeGB))
	}
	return term.Show(map[string]any{"competitions": out}, func() {
		term.Table(t)
		fmt.Fprintf(term.Stdout, "\n%s.\n", view.Plural(len(defs), "competition"))
	})
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

// NewCompetition returns the command competition.
func NewCompetition(a *app.App) *cobra.Command {
	return app.Group(a, "competition", "Show, write and check competitions: list, show, rank, new, lint, test, lock, rehearsal", newCompetitionList(a), newCompetitionShow(a), newCompetitionRank(a), newCompetitionNew(a), newCompetitionLint(a), newCompetitionTest(a), newCompetitionLock(a), newCompetitionRehearsal(a))
}
