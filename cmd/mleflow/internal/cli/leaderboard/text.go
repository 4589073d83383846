package leaderboard

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/steps/aggregate"
)

func renderText(t *app.Terminal, out *bytes.Buffer, r leaderboardResult, full bool) error {
	for _, s := range r.agents {
		if len(r.agents) > 1 {
			fmt.Fprintf(out, "%s\n\n", t.OutStyle().Bold(view.Text(s.name)))
		}
		if err := renderBoard(t, out, s, r.splits, full); err != nil {
			return err
		}
		if len(r.agents) > 1 {
			out.WriteString("\n")
		}
	}
	if err := renderStopped(t, out, r); err != nil {
		return err
	}
	for _, note := range r.notes() {
		fmt.Fprintf(out, "%s\n", t.OutStyle().Warn(view.OneLine(note)))
	}
	for _, split := range r.splits {
		if c, ok := r.comparisons[split.Name]; ok {
			if err := renderComparison(t, out, r.agents, split.Name, c, full); err != nil {
				return err
			}
		}
	}
	switch {
	case len(r.comparisons) > 0 && !full:
		out.WriteString("The difference is in percentage points. p: sign-flip test on the competitions. --full has all figures,\nintervals and tests.\n")
	case full && len(r.comparisons) > 0:
		out.WriteString("The difference is in percentage points. Intervals are 95 % percentile bootstraps: over other runs at\n" +
			"these competitions, and over other competitions. p: exact McNemar test on the pairs; sign-flip test\non the competitions.\n")
	}
	return nil
}

func renderComparison(term *app.Terminal, out *bytes.Buffer, agents []standing, split string, c board.Comparison, full bool) error {
	fmt.Fprintf(out, "%s: %s by %s at %s", term.OutStyle().Bold(split), view.Plural(c.Pairs, "pair"), c.PairedBy, view.Plural(c.Competitions, "competition"))
	if len(c.Unpaired) > 0 {
		first, second := 0, 0
		for _, u := range c.Unpaired {
			first, second = first+u.First, second+u.Second
		}
		fmt.Fprintf(out, "; without a partner and left out: %d and %d", first, second)
	}
	out.WriteString("\n\n")
	rows := aggregate.ComparisonRows(view.Text(agents[0].name), view.Text(agents[1].name), c)
	if !full {
		for i, row := range rows {
			rows[i] = append(row[:4:4], row[len(row)-1])
		}
	}
	header := rows[0]
	for i := 1; i < len(header); i++ {
		header[i] = ">" + header[i]
	}
	t := view.NewTable(header...)
	t.Fit(1, app.BoardWidth(term))
	for _, row := range rows[1:] {
		t.Row(row...)
	}
	if err := t.Write(out, term.OutStyle()); err != nil {
		return err
	}
	out.WriteString("\n")
	return nil
}

func renderBoard(term *app.Terminal, out *bytes.Buffer, s standing, splits []board.SplitIDs, full bool) error {
	b := s.board
	if len(b.Splits) == 0 {
		out.WriteString("No split is complete.\n")
		return nil
	}
	columns, isolation, task := []string{"Percent"}, []string{"isolation"}, []string{"task"}
	var shown []string
	for _, split := range splits {
		if _, ok := b.Splits[split.Name]; ok {
			shown = append(shown, split.Name)
			columns = append(columns, ">"+split.Name)
			isolation = append(isolation, s.isolation(split.IDs))
			task = append(task, s.task(split.IDs))
		}
	}
	t := view.NewTable(columns...)
	t.Fit(1, app.BoardWidth(term))
	for _, name := range board.PercentageNames() {
		row := []string{name}
		if !full {
			row[0] = strings.TrimSuffix(name, "_percentage")
		}
		for _, split := range shown {
			e := b.Splits[split][name]
			row = append(row, fmt.Sprintf("%.2f ± %.2f", float64(e.Mean), float64(e.SEM)))
		}
		t.Row(row...)
	}
	var same [][]string
	for _, row := range [][]string{isolation, task} {
		if values := slices.Compact(slices.Clone(row[1:])); len(values) == 1 && !full {
			same = append(same, []string{row[0], values[0]})
		} else {
			t.Row(row...)
		}
	}
	if err := t.Write(out, term.OutStyle()); err != nil {
		return err
	}
	for _, row := range same {
		fmt.Fprintf(out, "%-9s  %s\n", row[0], view.OneLine(row[1]))
	}
	fmt.Fprintf(out, "\n%s; mean ± standard error of the mean.\n", view.Plural(b.Seeds, "seed"))
	return nil
}
