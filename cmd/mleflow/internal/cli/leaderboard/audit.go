package leaderboard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// NewAudit returns the command audit.
func NewAudit(a *app.App) *cobra.Command {
	at := []time.Duration{time.Hour, 6 * time.Hour, 12 * time.Hour}
	cmd := &cobra.Command{
		Use:   "audit RESULT",
		Short: "Show what a result would be had something been otherwise",
		Args:  app.Takes(1, 1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if err := CheckStops(at); err != nil {
				return err
			}
			return runAudit(cmd.Context(), a, args[0], at)
		}),
	}
	cmd.Flags().DurationSliceVar(&at, "at", at, "the `TIMES` of early stopping, such as 1h,6h")
	return cmd
}

// AuditedJSON is what audit --json prints of an agent.
type AuditedJSON struct {
	Agent        string   `json:"agent"`
	Competitions []string `json:"competitions"`
	// NotCounted are the attempts that are not final or forks.
	NotCounted int          `json:"not_counted"`
	Cases      []board.Case `json:"cases"`
}

func runAudit(ctx context.Context, a *app.App, arg string, at []time.Duration) error {
	records, err := RecordsOf(ctx, a, arg)
	if err != nil {
		return err
	}
	by, all := map[string][]grading.Graded{}, map[string]bool{}
	for _, r := range records {
		if r.Graded {
			by[r.Agent], all[r.Report.CompetitionID] = append(by[r.Agent], r.AsGraded()), true
		}
	}
	if len(by) == 0 {
		return app.Usagef("%s holds no graded attempt", arg)
	}
	var audited []AuditedJSON
	ids := slices.Sorted(maps.Keys(all))
	for _, agent := range slices.SortedFunc(maps.Keys(by), board.CompareNames) {
		cases := board.WhatIf(by[agent], ids, at)
		audited = append(audited, AuditedJSON{agent, ids, len(by[agent]) - cases[0].Attempts, cases})
	}
	return a.Show(audited, func() { writeAudit(a.Terminal, audited) })
}

func writeAudit(term *app.Terminal, audited []AuditedJSON) {
	style := term.OutStyle()
	for _, one := range audited {
		left := ""
		if one.NotCounted > 0 {
			left = "; " + view.Verb(one.NotCounted, "attempt", "does", "do") + " not count: not final, or a fork"
		}
		fmt.Fprintf(term.Stdout, "%s, %s%s\n\n", style.Bold(view.Text(one.Agent)), view.Plural(len(one.Competitions), "competition"), left)
		t := view.NewTable("If", ">Attempts", ">Seeds", ">Any medal %", ">95 %, other runs", ">Other competitions", ">Change", ">Above median %", ">Valid %", ">Choices of seeds")
		t.Fit(0, app.BoardWidth(term))
		var notes []string
		for _, c := range one.Cases {
			row := []string{view.OneLine(c.Name), fmt.Sprint(c.Attempts), fmt.Sprint(c.Seeds), "–", "–", "–", "–", "–", "–", "–"}
			if e, ok := c.Figures["any_medal_percentage"]; ok {
				m := c.Measures["any_medal_percentage"]
				row[3], row[4], row[5] = e.Text(c.Seeds), m.Runs.Text(), m.Competitions.Text()
			}
			if c.Change != nil {
				row[6] = fmt.Sprintf("%+.2f", float64(*c.Change))
			}
			for i, name := range []string{"above_median_percentage", "valid_submissions_percentage"} {
				if e, ok := c.Figures[name]; ok {
					row[7+i] = fmt.Sprintf("%.2f", float64(e.Mean))
				}
			}
			if s := c.Choices; s != nil {
				row[9] = fmt.Sprintf("%.2f to %.2f, SD %.2f", float64(s.Lowest), float64(s.Highest), float64(s.SD))
			}
			if c.Why != "" {
				notes = append(notes, c.Name+": "+c.Why)
			}
			t.Row(row...)
		}
		term.Table(t)
		for _, note := range notes {
			fmt.Fprintf(term.Stdout, "%s\n", style.Dim("– is not known. "+view.OneLine(note)))
		}
		fmt.Fprintln(term.Stdout)
	}
	fmt.Fprintln(term.Stdout, "Mean ± standard error over seeds, and 95 % intervals. Choices of seeds: the lowest and highest\nchoice, and their standard deviation; they say nothing of other runs.")
}
