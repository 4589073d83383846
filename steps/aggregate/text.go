package aggregate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
)

// Text returns the leaderboard as tables for a terminal: first every agent's
// percentages, then its scores at each competition.
func (b *Board) Text(title string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", title)
	shares := [][]string{{"agent", b.groupHeader(), "competitions", "seeds", "any medal", "gold", "above median", "valid"}}
	scores := [][]string{{"agent", "competition", "score", "better", "best", "best place", "gold", "silver", "bronze", "above median", "valid"}}
	for _, a := range b.Agents {
		groups := a.Groups
		if len(groups) > 1 {
			groups = append(slices.Clip(groups), a.Overall)
		}
		for _, g := range groups {
			shares = append(shares, g.row(a.Name))
		}
		for _, r := range a.Competitions {
			scores = append(scores, r.row(a.Name))
		}
	}
	writeTable(&out, shares, 2)
	out.WriteString("\n")
	writeTable(&out, scores, 2)
	fmt.Fprintf(&out, "\nMean ± standard error over seeds. Medals and places are those of the score among the competition's human teams.\n")
	if b.flagged(competitions.Crowded) {
		out.WriteString("crowded: gold and bronze are so close on the human leaderboard that a medal hangs on the last digits; the reports have the numbers.\n")
	}
	return out.String()
}

// flagged reports whether some competition of the board has a flag.
func (b *Board) flagged(flag competitions.Flag) bool {
	return slices.ContainsFunc(b.Entries, func(e Entry) bool { return slices.Contains(e.Report.Flagged, flag) })
}

func (b *Board) groupHeader() string {
	if b.GroupBy == byNothing {
		return "group"
	}
	return b.GroupBy
}

func (g Group) row(agent string) []string {
	row := []string{agent, g.Name, strconv.Itoa(len(g.Competitions)), strconv.Itoa(g.Seeds)}
	for _, name := range []string{"any_medal_percentage", "gold_medal_percentage", "above_median_percentage", "valid_submissions_percentage"} {
		row = append(row, g.percentage(name))
	}
	return row
}

func (g Group) percentage(name string) string {
	p := g.Percentages[name]
	if g.Seeds < 2 {
		return fmt.Sprintf("%.1f %%", float64(p.Mean))
	}
	return fmt.Sprintf("%.1f ± %.1f %%", float64(p.Mean), float64(p.SEM))
}

func (r Result) row(agent string) []string {
	of := func(n int) string { return fmt.Sprintf("%d/%d", n, r.Runs) }
	better := "higher"
	if r.LowerIsBetter {
		better = "lower"
	}
	place := "-"
	if r.BestRank > 0 {
		place = fmt.Sprintf("%d of %d", r.BestRank, r.Teams)
	}
	return []string{
		agent, r.name(), r.scoreText(), better, number(r.Best), place,
		of(r.Gold), of(r.Silver), of(r.Bronze), of(r.AboveMedian), of(r.Valid),
	}
}

// name is the competition, with the flags of its version.
func (r Result) name() string {
	out := r.Competition
	for _, flag := range r.Flags {
		out += fmt.Sprintf(" (%s)", flag)
	}
	return out
}

func (r Result) scoreText() string {
	if r.Score == nil {
		return "-"
	}
	text := number(&r.Score.Mean)
	if r.Scored > 1 {
		text += " ± " + number(&r.Score.SEM)
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
	return strconv.FormatFloat(float64(*n), 'f', 5, 64)
}

// writeTable writes rows as columns two spaces apart; the first columns to
// the left, the others to the right.
func writeTable(out *strings.Builder, rows [][]string, left int) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for c, cell := range row {
			widths[c] = max(widths[c], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
			if c > 0 {
				line.WriteString("  ")
			}
			if c < left {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
