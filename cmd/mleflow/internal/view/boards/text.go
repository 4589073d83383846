package boards

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Layout selects how a leaderboard is drawn.
type Layout struct {
	Style view.Style
	Width int
	// Full shows the intervals of every figure.
	Full bool
}

// Text draws the figures.
func (l Layout) Text(out *bytes.Buffer, r Result) {
	for _, s := range r.Agents {
		if len(r.Agents) > 1 {
			fmt.Fprintf(out, "%s\n\n", l.Style.Bold(view.Text(s.Name)))
		}
		l.board(out, s, r.Splits)
		if len(r.Agents) > 1 {
			out.WriteString("\n")
		}
	}
	l.stopped(out, r)
	for _, note := range r.notes() {
		fmt.Fprintf(out, "%s\n", l.Style.Warn(view.OneLine(note)))
	}
	for _, split := range r.Splits {
		if c, ok := r.Comparisons[split.Name]; ok {
			l.comparison(out, split.Name, c)
		}
	}
	if len(r.Comparisons) > 0 {
		out.WriteString(plain.Wrap(aggregate.ComparisonText, l.text()) + "\n")
	}
}

// table returns a table that repeats its first columns if it is too wide.
func (l Layout) table(keys int, columns ...string) *view.Table {
	t := view.NewTable(columns...)
	t.Fit(keys, l.Width)
	return t
}

// text is the width of paragraphs.
func (l Layout) text() int { return min(cmp.Or(l.Width, 100), 100) }

func (l Layout) board(out *bytes.Buffer, s board.Standing, splits []board.SplitIDs) {
	b := s.Board
	if len(b.Splits) == 0 {
		out.WriteString("No split is complete.\n")
		return
	}
	columns, about := []string{"Percent"}, [][]string{{"isolation"}, {"task"}, {"seeds"}, {"competitions"}}
	var shown []string
	for _, split := range splits {
		if _, ok := b.Splits[split.Name]; ok {
			shown = append(shown, split.Name)
			columns = append(columns, ">"+split.Name)
			for i, value := range []string{s.Under(split.IDs).Isolation, s.Under(split.IDs).Task, strconv.Itoa(b.SeedsPerSplit[split.Name]), strconv.Itoa(len(split.IDs))} {
				about[i] = append(about[i], value)
			}
		}
	}
	t := l.table(1, columns...)
	for _, name := range board.MeasureNames() {
		l.measure(t, b, shown, name)
	}
	var same [][]string
	for _, row := range about {
		if values := slices.Compact(slices.Clone(row[1:])); len(values) == 1 && !l.Full {
			same = append(same, []string{row[0], values[0]})
		} else {
			t.Row(row...)
		}
	}
	t.Write(out, l.Style)
	for _, row := range append(same, []string{"class", s.Class(nil)}) {
		fmt.Fprintf(out, "%-12s  %s\n", row[0], view.OneLine(row[1]))
	}
	if c := results.CostOf(attemptsOf(s)); c != nil {
		fmt.Fprintf(out, "%-12s  %s\n", "cost (USD)", aggregate.CostSentence(c))
	}
	out.WriteString("\nMean ± standard error of the mean, over seeds. Intervals are of 95 %.\n")
	for _, split := range shown {
		if c, ok := b.Choices[split]; ok {
			fmt.Fprintf(out, "%s: any_medal over all choices of %s: from %.2f to %.2f, standard deviation %.2f; this says nothing of other runs.\n",
				split, view.Plural(b.SeedsPerSplit[split], "seed"), float64(c.Lowest), float64(c.Highest), float64(c.SD))
		}
	}
}

// measure adds the rows of a figure: that of its means, and those of the intervals of any
// medal, or of all with Full.
func (l Layout) measure(t *view.Table, b board.Board, splits []string, name string) {
	rows := [][]string{{name}, {"  other runs"}, {"  other competitions"}}
	if !l.Full {
		rows[0][0] = strings.TrimSuffix(name, "_percentage")
	}
	known := false
	for _, split := range splits {
		m, ok := b.Measures[split][name]
		mean := "–"
		if e, shares := b.Splits[split][name]; shares {
			mean = e.Text(b.SeedsPerSplit[split])
		} else if ok {
			mean = fmt.Sprintf("%.2f", float64(m.Mean))
		}
		known = known || mean != "–"
		rows[0], rows[1], rows[2] = append(rows[0], mean), append(rows[1], m.Runs.Text()), append(rows[2], m.Competitions.Text())
	}
	if !known {
		return
	}
	if !l.Full && name != "any_medal_percentage" {
		rows = rows[:1]
	}
	for _, row := range rows {
		t.Row(row...)
	}
}

// comparison draws a comparison over a split: in words, with the medals, then in figures.
func (l Layout) comparison(out *bytes.Buffer, split string, c *results.Comparison) {
	fmt.Fprintf(out, "%s: %s\n\n%s\n", l.Style.Bold(split), aggregate.Basis(c.Comparison), plain.Wrap(view.OneLine(c.Sentence()), l.text()))
	if _, ranked := c.Figures["any_medal_percentage"]; ranked {
		out.WriteString(plain.Wrap(view.MedalsText(c.Won, c.Lost), l.text()) + "\n")
	}
	out.WriteString("\n")
	rows := aggregate.ComparisonRows(view.Text(c.First), view.Text(c.Second), c.Comparison)
	header := rows[0]
	for i := 1; i < len(header); i++ {
		header[i] = ">" + header[i]
	}
	t := l.table(1, header...)
	for _, row := range rows[1:] {
		t.Row(row...)
	}
	t.Write(out, l.Style)
	out.WriteString("\n")
}

// stopped writes one table per split, with one row per time and one for the end.
func (l Layout) stopped(out *bytes.Buffer, r Result) {
	if len(r.Stopped) == 0 {
		return
	}
	names := []string{"any_medal_percentage", "gold_medal_percentage", "silver_medal_percentage", "bronze_medal_percentage", "above_median_percentage", "valid_submissions_percentage"}
	header := lists.Of(names, func(name string) string { return ">" + strings.TrimSuffix(name, "_percentage") })
	for _, split := range r.Splits {
		if _, ok := r.Agents[0].Board.Splits[split.Name]; !ok {
			continue
		}
		t := l.table(1, append([]string{"Stopped after"}, header...)...)
		row := func(what string, b board.Board) {
			cells := lists.Of(names, func(name string) string { return b.Splits[split.Name][name].Text(b.SeedsPerSplit[split.Name]) })
			t.Row(append([]string{what}, cells...)...)
		}
		for _, s := range r.Stopped {
			row(view.Duration(s.At), s.Board)
		}
		row("the end", r.Agents[0].Board)
		fmt.Fprintf(out, "\n%s\n\n", l.Style.Bold(split.Name))
		t.Write(out, l.Style)
	}
	out.WriteString("\n")
}

// Runs lists every run with its distance from the next medal.
func (l Layout) Runs(out *bytes.Buffer, r Result) {
	columns := []string{"Agent", "Competition", "Seed", "Isolation", "Task", ">Score", "Medal", ">Place", ">To gold", ">To silver", ">To bronze"}
	runs := r.runs()
	used := slices.ContainsFunc(runs, func(run *results.Attempt) bool { return run.Made.Usage != nil })
	if used {
		columns = append(columns, ">Tokens", ">Cost (USD)")
	}
	t := l.table(3, columns...)
	for _, run := range runs {
		score, place := cmp.Or(run.NoScore(), "-"), "-"
		if s := run.Report.Score; s != nil && !math.IsNaN(float64(*s)) {
			score = view.Score(float64(*s))
		}
		if run.Report.Rank != nil && score != results.NaN {
			place = results.Place(*run.Report.Rank, run.Report.Teams)
		}
		row := []string{view.Text(run.Agent), run.Report.CompetitionID, view.Text(run.Seed), conditions.Shown(run.Report.Conditions), conditions.Told(run.Report.Conditions), score, results.Medal(run.Report), place}
		row = append(row, marginText(run.Margins, grading.Gold), marginText(run.Margins, grading.Silver), marginText(run.Margins, grading.Bronze))
		if used {
			row = append(row, aggregate.TokensText(run.Made.Usage), aggregate.CostText(run.Made.Usage))
		}
		t.Row(row...)
	}
	t.Write(out, l.Style)
}

// marginText returns the distance to a threshold, or says that it is reached.
func marginText(margins map[grading.Threshold]grading.Margin, name grading.Threshold) string {
	m, ok := margins[name]
	switch {
	case !ok:
		return "-"
	case m.Score >= 0:
		return "reached"
	case m.Places == nil:
		return fmt.Sprintf("%.5f", -float64(m.Score))
	}
	return fmt.Sprintf("%.5f, %d up", -float64(m.Score), -*m.Places)
}
