package cli

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
	"github.com/mleflow/mleflow/cmd/mleflow/internal/results"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/ledger"
)

func newDiff(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Say what differs between two runs",
		Long:  "Compare two runs: variables, pipeline, environment, the inputs of steps (definitions\nand data by digest), outcomes, outputs and scores. The exit status is 0 either way.",
		Args:  takes(2, 2),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			return a.withCache(func(c *disk.Cache) error {
				d, err := a.diffRuns(cmd.Context(), c, args)
				if err != nil {
					return err
				}
				if a.json {
					return writeJSON(a.stdout, d)
				}
				return a.showDifference(d)
			})
		}),
	}
}

func (a *app) diffRuns(ctx context.Context, c *disk.Cache, refs []string) (*results.Difference, error) {
	var sides [2]*results.Source
	var sources [2]map[string][]byte
	for i, ref := range refs {
		past, err := a.findRun([]string{ref})
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

func (a *app) showDifference(d *results.Difference) error {
	style := a.outStyle()
	fmt.Fprintf(a.stdout, "%s\n", style.Bold("From run "+d.From+" to "+d.To))
	if d.Empty() {
		fmt.Fprintln(a.stdout, "No differences.")
		return nil
	}
	if d.Pipeline {
		fmt.Fprintln(a.stdout, "The text of the pipeline, or of a file that it reads, is another.")
	}
	for _, part := range []struct {
		title string
		list  []results.Change
	}{
		{"Variables", d.Variables}, {"Environment", d.Environment}, {"Steps of one run only", d.Only}, {"Outcomes", d.Outcomes}, {"Outputs", d.Outputs},
	} {
		if err := a.showChanges(part.title, part.list); err != nil {
			return err
		}
	}
	if err := a.showInputs(d.Steps); err != nil {
		return err
	}
	return a.showScores(d.Scores)
}

func (a *app) showChanges(title string, list []results.Change) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	t := view.NewTable(title, "Was", "Is")
	for _, c := range list {
		t.Row(c.Name, brief(c.Was), brief(c.Is))
	}
	return t.Write(a.stdout, a.outStyle())
}

// shownSteps is how many changed steps are listed with their inputs.
const shownSteps = 20

func (a *app) showInputs(steps []results.StepChange) error {
	if len(steps) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	t := view.NewTable("Inputs of steps", "Input", "Was", "Is")
	for i, s := range steps {
		if i == shownSteps && !a.verbose {
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
	return t.Write(a.stdout, a.outStyle())
}

func (a *app) showScores(scores []results.Score) error {
	if len(scores) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
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
	return t.Write(a.stdout, a.outStyle())
}

// brief is a value on one line, cut to fit a table.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return cmp.Or(text, "-")
}
