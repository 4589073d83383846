package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
)

// Layout is the layout of a board's text: its width in columns, beyond which tables
// continue below, and whether it shows the labels of the reports and what figures rest on.
type Layout struct {
	Width  int
	Labels bool
}

// Stored is the layout of a board's output table, StoredFull that of board.txt.
var (
	Stored     = Layout{Width: 80}
	StoredFull = Layout{Width: 100}
)

// rankedText says how a board without leaderboards is ordered, orderText how others are.
const rankedText = "Places are given within a class of equal conditions, by the mean rank over competitions of a run among one of each other agent, the interval of which is over other competitions like these; then by valid submissions. A win is a competition at which a run is more likely than not to beat one of each other agent."

const orderText = "Places are given within a class of equal conditions, by the shares of any medal, above median and valid; then by gold, silver and, with a single competition, the mean score."

// Compact returns the leaderboard as one table, one line an agent, and caveats.
func (b *Board) Compact(title string, how Layout) string {
	var out strings.Builder
	width := how.Width
	fmt.Fprintf(&out, "%s\n\n%s\n\n", b.titled(title), b.Summary(how))
	b.writeConditions(&out, width)
	note := func(text string) { fmt.Fprintf(&out, "\n%s\n", plain.Wrap(plain.Line(text), width)) }
	for _, c := range b.Comparisons {
		if d, ok := c.Figures["any_medal_percentage"]; ok {
			note(fmt.Sprintf("%s %s: 95 %% interval %s over other runs, %s over other competitions; p %s.", b.Sentence(c), Basis(c.Comparison), intervalText(d.Runs), intervalText(d.Competitions), pText(d.P)))
		}
	}
	for _, text := range b.Notes() {
		note(text)
	}
	over := "seeds"
	if how.Labels {
		over, _ = b.basis()
	}
	note(b.closing("Mean ± standard error over "+over+"; G/S/B are gold, silver and bronze medals. ") + " All tables: mleflow show --full.")
	return out.String()
}

// closing says how the board is ordered, and before that what its figures are.
func (b *Board) closing(figures string) string {
	switch rule := b.Rule(); {
	case rule != nil:
		return rule.Explain()
	case b.ranked():
		return rankedText
	case b.Medalless():
		return "Places are given within a class of equal conditions, by valid submissions, then by the mean score."
	}
	return figures + orderText
}

// Summary returns a table with one row per agent. If the table is too wide, names are
// shortened first, and then columns are omitted.
func (b *Board) Summary(how Layout) string { return b.summary(how, false) }

func (b *Board) summary(how Layout, all bool) string {
	rows := [][]string{{"place", "agent"}}
	shown := b.summaryColumns()
	for _, c := range shown {
		rows[0] = append(rows[0], c.name)
	}
	for _, a := range b.Agents {
		row := []string{strings.TrimSpace(a.ClassLetter + " " + cmp.Or(a.PlaceText(), "-")), a.Name}
		rows = append(rows, append(row, lists.Of(shown, func(c summaryColumn) string { return c.of(a, a.sum()) })...))
	}
	columns := columnsOf(rows, 2)
	if cost := b.costColumn(); all && cost != nil {
		columns = append(columns, plain.Pad(cost, true))
	}
	for plain.Size(columns) > how.Width && len(columns) > 3 {
		name := utf8.RuneCountInString(columns[1][0])
		if most := name - (plain.Size(columns) - how.Width); most >= min(name, 12) {
			columns[1] = plain.Shorten(columns[1], most)
			break
		}
		columns = columns[:len(columns)-1]
	}
	if how.Labels {
		columns = b.withLabels(columns, how.Width, all)
	}
	return plain.Table(columns, 2, how.Width)
}

// medals is a text about medals, "-" if there are none.
func (r Result) medals(text string) string {
	if r.Unranked {
		return "-"
	}
	return text
}

// without leaves out the columns with these headers.
func without(rows [][]string, names ...string) [][]string {
	return lists.Of(rows, func(row []string) (kept []string) {
		for i, cell := range row {
			if i >= len(rows[0]) || !slices.Contains(names, rows[0][i]) {
				kept = append(kept, cell)
			}
		}
		return kept
	})
}

// writeConditions writes the board's subject and the conditions of the attempts.
func (b *Board) writeConditions(out *strings.Builder, width int) {
	names := map[string]string{}
	for _, a := range b.Agents {
		for _, r := range a.Competitions {
			names[r.name()] = competitions.Direction(r.LowerIsBetter).String()
		}
	}
	about := "Competitions: " + plain.List(slices.Sorted(maps.Keys(names))) + "."
	for name, better := range names {
		if len(names) == 1 {
			about = "Competition: " + name + ", " + better + " is better."
		}
	}
	out.WriteString(plain.Wrap(plain.Line(about), width) + "\n")
	for _, class := range b.Classes() {
		who := "All attempts"
		if letter := class[0].ClassLetter; letter != "" {
			who = "Class " + letter
		}
		out.WriteString(plain.Wrap(plain.Line(who+": "+b.ClassText(class)+"."), width) + "\n")
	}
}

// basis is on what the figures of agents rest, as text, and as columns of what differs.
func (b *Board) basis() (text string, columns [][]string) {
	var parts []string
	for _, of := range []struct {
		noun  string
		count func(Agent) int
	}{
		{"seed", func(a Agent) int { return a.Overall.Seeds }},
		{"competition", func(a Agent) int { return len(a.Overall.Competitions) }},
	} {
		var counts []int
		column := []string{of.noun + "s"}
		for _, a := range b.Agents {
			counts, column = append(counts, of.count(a)), append(column, strconv.Itoa(of.count(a)))
		}
		if len(counts) == 0 {
			return "seeds", nil
		}
		low, high := slices.Min(counts), slices.Max(counts)
		part := fmt.Sprintf("%d %ss", high, of.noun)
		if high == 1 {
			part = strings.TrimSuffix(part, "s")
		}
		if low < high {
			part, columns = fmt.Sprintf("%d to %s", low, part), append(columns, column)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " at "), columns
}

// Text returns the leaderboard as tables: a row for each agent, its percentages, its
// scores at each competition, comparisons, and caveats.
func (b *Board) Text(title string, how Layout) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n%s\n\n", b.titled(title), b.summary(how, true))
	b.writeConditions(&out, how.Width)
	out.WriteString("\n")
	shares := [][]string{{"agent", b.GroupHeader(), "isolation", "task", "competitions", "seeds", "any medal", "gold", "above median", "valid"}}
	scores := [][]string{{"agent", "competition", "isolation", "task", "score", "better", "best", "best place", "next", "gold", "silver", "bronze", "above median", "valid"}}
	lacking := b.anyResult(func(r Result) bool { return len(r.Unscored) > 0 })
	if lacking {
		scores[0] = append(scores[0], "no score")
	}
	used := b.usedColumns()
	for _, c := range used {
		scores[0] = append(scores[0], c.name)
	}
	for _, a := range b.Agents {
		for _, g := range a.shown() {
			shares = append(shares, g.row(a.Name))
		}
		for _, r := range a.Competitions {
			row := r.row(a.Name)
			if lacking {
				row = append(row, unscoredText(r.Unscored))
			}
			scores = append(scores, append(row, lists.Of(used, func(c usedColumn) string { return c.text(r.Used) })...))
		}
	}
	if b.Medalless() {
		shares, scores = without(shares, "any medal", "gold", "above median"), without(scores, "best place", "next", "gold", "silver", "bronze", "above median")
	}
	writeTable(&out, shares, 4, how.Width)
	out.WriteString("\n")
	writeTable(&out, scores, 4, how.Width)
	for _, c := range b.Comparisons {
		fmt.Fprintf(&out, "\n%s\n", plain.Wrap(plain.Line(b.Sentence(c)), how.Width))
		fmt.Fprintf(&out, "\n%s and %s, %s\n\n", plain.Line(c.First), plain.Line(c.Second), Basis(c.Comparison))
		writeTable(&out, ComparisonRows(c.First, c.Second, c.Comparison), 1, how.Width)
	}
	closing := "Mean ± standard error over seeds. "
	if b.Rule() == nil && !b.Medalless() {
		closing += "Medals and places are those of the score among the competition's human teams; next is the gap " +
			"between the best score and the next medal. G/S/B are gold, silver and bronze medals. "
	}
	closing += b.closing("")
	if len(b.Comparisons) > 0 {
		closing += " " + ComparisonText
	}
	for _, note := range append(b.Notes(), closing) {
		fmt.Fprintf(&out, "\n%s\n", plain.Wrap(plain.Line(note), how.Width))
	}
	return out.String()
}

// PlaceText is the place, "2=" if another agent shares it; "" without one.
func (a Agent) PlaceText() string {
	switch {
	case a.Place == 0:
		return ""
	case a.Tied:
		return strconv.Itoa(a.Place) + "="
	}
	return strconv.Itoa(a.Place)
}

// GroupHeader names what the groups of competitions are.
func (b *Board) GroupHeader() string {
	if b.GroupBy == byNothing || b.GroupBy == "" {
		return "group"
	}
	return b.GroupBy
}

func (g Group) row(agent string) []string {
	row := []string{agent, g.Name, g.Isolation, g.Task, strconv.Itoa(len(g.Competitions)), strconv.Itoa(g.Seeds)}
	shares := []string{"any_medal_percentage", "gold_medal_percentage", "above_median_percentage", "valid_submissions_percentage"}
	return append(row, lists.Of(shares, g.percentage)...)
}

func (g Group) percentage(name string) string {
	p, ok := g.Percentages[name]
	if !ok {
		return "-"
	}
	if g.Seeds < 2 {
		return fmt.Sprintf("%.1f %%", float64(p.Mean))
	}
	return fmt.Sprintf("%.1f ± %.1f %%", float64(p.Mean), float64(p.SEM))
}

func (r Result) row(agent string) []string {
	of := func(n int) string { return fmt.Sprintf("%d/%d", n, r.Runs-r.NotFinal) }
	medals := of
	if r.Unranked {
		medals = func(int) string { return "-" }
	}
	place := "-"
	if r.BestRank > 0 {
		place = results.Place(r.BestRank, r.Teams)
	}
	return []string{
		agent, r.name(), r.Isolation, r.Task, r.scoreText(), competitions.Direction(r.LowerIsBetter).String(), number(r.Best), place, r.nextMedal(),
		medals(r.Gold), medals(r.Silver), medals(r.Bronze), medals(r.AboveMedian), of(r.Valid),
	}
}

// name returns the name of the competition with the flags of its version.
func (r Result) name() string {
	out := r.Competition
	for _, flag := range r.Flags {
		out += fmt.Sprintf(" (%s)", flag)
	}
	if r.MetricExternal {
		out += " (external metric)"
	}
	return out
}

// nextMedal shows the gap between the best score and the next better medal.
func (r Result) nextMedal() string {
	next := "-"
	for _, name := range []grading.Threshold{grading.Gold, grading.Silver, grading.Bronze} {
		m, ok := r.Margins[name]
		if !ok || m.Score >= 0 {
			break
		}
		next = fmt.Sprintf("%s: %s", name, number(new(-m.Score)))
		if m.Places != nil {
			next += fmt.Sprintf(", %d up", -*m.Places)
		}
	}
	return next
}

func (r Result) scoreText() string {
	if r.Score == nil && len(r.Unscored) == 1 {
		for why := range r.Unscored {
			return why
		}
	}
	if r.Score == nil {
		return "-"
	}
	text := number(&r.Score.Mean)
	if r.Scored > 1 {
		text += " ± " + fixed(r.Score.SEM, decimals(r.Score.Mean))
	}
	if r.Scored < r.Runs {
		text += fmt.Sprintf(" (of %d)", r.Scored)
	}
	return text
}

// ScoreText writes a score with five decimals, to which scores are rounded, or with fewer if
// it has many digits before the point.
func ScoreText(score float64) string {
	return number(new(grading.Number(score)))
}

func number(n *grading.Number) string {
	if n == nil {
		return "-"
	}
	return fixed(*n, decimals(*n))
}

func fixed(n grading.Number, places int) string {
	return strconv.FormatFloat(float64(n), 'f', places, 64)
}

// decimals returns the number of decimals to show for a score: five, to which scores
// are rounded, and fewer for scores with many digits before the point.
func decimals(n grading.Number) int {
	places := 5
	for size := math.Abs(float64(n)); size >= 1000 && places > 0; size /= 10 {
		places--
	}
	return places
}

// writeTable writes rows as columns. The first columns are aligned left, the others
// right.
func writeTable(out *strings.Builder, rows [][]string, left, width int) {
	out.WriteString(plain.Table(columnsOf(rows, left), 2, width) + "\n")
}

// columnsOf returns the padded columns of rows. The first columns are aligned left, the
// others right.
func columnsOf(rows [][]string, left int) [][]string {
	columns := make([][]string, len(rows[0]))
	for c := range columns {
		for _, row := range rows {
			columns[c] = append(columns[c], row[c])
		}
		columns[c] = plain.Pad(columns[c], c >= left)
	}
	return columns
}
