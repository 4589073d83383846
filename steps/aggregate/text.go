package aggregate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/plain"
)

// boardWidth is how many columns wide a board is. What is wider continues
// below.
const boardWidth = 100

// Text returns the leaderboard as tables for a terminal: every agent's
// percentages, its scores at each competition, comparisons, and caveats.
func (b *Board) Text(title string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", plain.Line(title))
	shares := [][]string{{"agent", b.groupHeader(), "isolation", "task", "place", "competitions", "seeds", "any medal", "gold", "above median", "valid"}}
	scores := [][]string{{"agent", "competition", "isolation", "task", "score", "better", "best", "best place", "next", "gold", "silver", "bronze", "above median", "valid"}}
	lacking := b.anyUnscored()
	if lacking {
		scores[0] = append(scores[0], "no score")
	}
	used := b.usedColumns()
	for _, c := range used {
		scores[0] = append(scores[0], c.name)
	}
	for _, a := range b.Agents {
		for _, g := range a.shown() {
			shares = append(shares, slices.Insert(g.row(a.Name), 4, a.placeText()))
		}
		for _, r := range a.Competitions {
			row := r.row(a.Name)
			if lacking {
				row = append(row, unscoredText(r.Unscored))
			}
			for _, c := range used {
				row = append(row, c.text(r.Used))
			}
			scores = append(scores, row)
		}
	}
	writeTable(&out, shares, 4)
	out.WriteString("\n")
	writeTable(&out, scores, 4)
	out.WriteString("\nMean ± standard error over seeds. Medals and places are those of the score among the competition's\n" +
		"human teams; next is the gap between the best score and the next medal.\n")
	for _, c := range b.Comparisons {
		c.write(&out)
	}
	for _, note := range b.notes() {
		fmt.Fprintf(&out, "\n%s\n", plain.Wrap(plain.Line(note), boardWidth))
	}
	return out.String()
}

func (a Agent) placeText() string {
	switch {
	case a.Place == 0:
		return "-"
	case a.Tied:
		return strconv.Itoa(a.Place) + "="
	}
	return strconv.Itoa(a.Place)
}

func (b *Board) groupHeader() string {
	if b.GroupBy == byNothing {
		return "group"
	}
	return b.GroupBy
}

func (g Group) row(agent string) []string {
	row := []string{agent, g.Name, g.Isolation, g.Task, strconv.Itoa(len(g.Competitions)), strconv.Itoa(g.Seeds)}
	for _, name := range []string{"any_medal_percentage", "gold_medal_percentage", "above_median_percentage", "valid_submissions_percentage"} {
		row = append(row, g.percentage(name))
	}
	return row
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
	better := "higher"
	if r.LowerIsBetter {
		better = "lower"
	}
	place := "-"
	if r.BestRank > 0 {
		place = export.Place(r.BestRank, r.Teams)
	}
	return []string{
		agent, r.name(), r.Isolation, r.Task, r.scoreText(), better, number(r.Best), place, r.nextMedal(),
		medals(r.Gold), medals(r.Silver), medals(r.Bronze), medals(r.AboveMedian), of(r.Valid),
	}
}

// name is the competition, with the flags of its version.
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

// nextMedal is the gap between the best score and the next better medal.
func (r Result) nextMedal() string {
	next := "-"
	for _, name := range []grading.Threshold{grading.Gold, grading.Silver, grading.Bronze} {
		m, ok := r.Margins[name]
		if !ok || m.Score >= 0 {
			break
		}
		missing := -m.Score
		next = fmt.Sprintf("%s: %s", name, number(&missing))
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

func number(n *grading.Number) string {
	if n == nil {
		return "-"
	}
	return fixed(*n, decimals(*n))
}

func fixed(n grading.Number, places int) string {
	return strconv.FormatFloat(float64(n), 'f', places, 64)
}

// decimals is the number of decimals that a score is shown with: five, to which
// scores are rounded, and fewer for scores with many digits before the point.
func decimals(n grading.Number) int {
	places := 5
	for size := math.Abs(float64(n)); size >= 1000 && places > 0; size /= 10 {
		places--
	}
	return places
}

// writeTable writes rows as columns, the first to the left, the others to the
// right.
func writeTable(out *strings.Builder, rows [][]string, left int) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for c, cell := range row {
			row[c] = plain.Line(cell)
			widths[c] = max(widths[c], utf8.RuneCountInString(row[c]))
		}
	}
	columns := make([][]string, len(widths))
	for _, row := range rows {
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
			if c < left {
				cell += pad
			} else {
				cell = pad + cell
			}
			columns[c] = append(columns[c], cell)
		}
	}
	out.WriteString(plain.Table(columns, 2, boardWidth) + "\n")
}
