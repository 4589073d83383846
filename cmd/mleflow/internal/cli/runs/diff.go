package runs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/engine/ledger"
)

// NewDiff returns the command diff.
func NewDiff(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Show what differs between two runs",
		Long:  "Compare two runs: variables, pipeline, environment, inputs of steps (definitions\nand data by digest), outcomes, outputs and scores. The exit status is 0.",
		Args:  app.Takes(2, 2),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			return a.WithCache(func(c *disk.Cache) error {
				d, err := diffRuns(cmd.Context(), a.Store, c, args)
				if err != nil {
					return err
				}
				if a.JSON {
					return app.WriteJSON(a.Stdout, d)
				}
				return showDifference(a.Terminal, d)
			})
		}),
	}
}

func diffRuns(ctx context.Context, s *app.Store, c *disk.Cache, refs []string) (*results.Difference, error) {
	var sides [2]*results.Source
	var sources [2]map[string][]byte
	for i, ref := range refs {
		past, err := s.FindRun([]string{ref})
		if err != nil {
			return nil, err
		}
		var sum *ledger.Summary
		if sum, err = past.Summary(); err != nil {
			return nil, err
		}
		if sources[i], err = past.Sources(); err != nil {
			return nil, err
		}
		sides[i] = &results.Source{Store: c, Index: c, Run: sum}
	}
	return results.Diff(ctx, sides[0], sides[1], !maps.EqualFunc(sources[0], sources[1], bytes.Equal))
}

func showDifference(t *app.Terminal, d *results.Difference) error {
	style := t.OutStyle()
	fmt.Fprintf(t.Stdout, "%s\n", style.Bold("From run "+d.From+" to "+d.To))
	if d.Empty() {
		fmt.Fprintln(t.Stdout, "No differences.")
		return nil
	}
	if d.Pipeline {
		fmt.Fprintln(t.Stdout, "The pipeline, or a file that it reads, has changed.")
	}
	for _, part := range []struct {
		title string
		list  []results.Change
	}{
		{"Variables", d.Variables}, {"Environment", d.Environment}, {"Steps of one run only", d.Only}, {"Outcomes", d.Outcomes}, {"Outputs", d.Outputs},
	} {
		if err := showChanges(t, part.title, part.list); err != nil {
			return err
		}
	}
	if err := showInputs(t, d.Steps); err != nil {
		return err
	}
	if err := showScores(t, d.Scores); err != nil {
		return err
	}
	for _, side := range []struct {
		run       string
		untrusted bool
	}{{d.From, d.FromUntrusted}, {d.To, d.ToUntrusted}} {
		if side.untrusted {
			fmt.Fprintf(t.Stdout, "%s attempts of run %s were not isolated.\n", style.Bad("Untrusted:"), side.run)
		}
	}
	return nil
}

func showChanges(term *app.Terminal, title string, list []results.Change) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(term.Stdout)
	t := view.NewTable(title, "Was", "Is")
	for _, c := range list {
		t.Row(c.Name, brief(c.Was), brief(c.Is))
	}
	return t.Write(term.Stdout, term.OutStyle())
}

// shownSteps is how many changed steps are listed with their inputs.
const shownSteps = 20

func showInputs(term *app.Terminal, steps []results.StepChange) error {
	if len(steps) == 0 {
		return nil
	}
	fmt.Fprintln(term.Stdout)
	t := view.NewTable("Inputs of steps", "Input", "Was", "Is")
	for i, s := range steps {
		if i == shownSteps && !term.Verbose {
			t.Row(fmt.Sprintf("… and %s more (-v lists them)", view.Plural(len(steps)-i, "step")))
			break
		}
		if len(s.Inputs) == 0 {
			t.Row(s.Address, cmp.Or(s.Note, "another key"))
		}
		for k, c := range s.Inputs {
			address := s.Address
			if k > 0 {
				address = ""
			}
			t.Row(address, c.Name, brief(c.Was), brief(c.Is))
		}
	}
	return t.Write(term.Stdout, term.OutStyle())
}

func showScores(term *app.Terminal, scores []results.Score) error {
	if len(scores) == 0 {
		return nil
	}
	fmt.Fprintln(term.Stdout)
	t := view.NewTable("Scores", ">Was", ">Is", ">Difference")
	side := func(score *float64, outcome string) string {
		if score == nil {
			return outcome
		}
		return view.Score(*score)
	}
	for _, s := range scores {
		difference := ""
		if s.Difference != nil {
			difference = strconv.FormatFloat(*s.Difference, 'g', 6, 64)
			if *s.Difference > 0 {
				difference = "+" + difference
			}
		}
		t.Row(s.Address, side(s.Was, s.WasOutcome), side(s.Is, s.IsOutcome), difference)
	}
	return t.Write(term.Stdout, term.OutStyle())
}

// brief is a value on one line, cut to fit a table.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return cmp.Or(text, "-")
}
