package plain

import (
	"cmp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	const board = `Board

agent  competition        score     best     next
dummy  digits       0.1 ± 0.000  0.10000        -
mine   cancer       0.9 ± 0.100  1.00000  gold: 1

Mean ± standard error over seeds of whatever there is.
`
	for _, tt := range []struct {
		name  string
		width int
		want  string
	}{
		{"fits", 50, ""},
		{"no width", 0, ""},
		{"two bands", 40, `Board

agent  competition        score     best
dummy  digits       0.1 ± 0.000  0.10000
mine   cancer       0.9 ± 0.100  1.00000

agent  competition     next
dummy  digits             -
mine   cancer       gold: 1

Mean ± standard error over seeds of whatever there is.
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := cmp.Or(tt.want, board)
			if got := Fold(board, 2, tt.width); got != want {
				t.Errorf("folded is\n%s\nnot\n%s", got, want)
			}
		})
	}
}

// TestFoldWidths folds a table with long names to all widths: nothing is lost,
// and what can fit does.
func TestFoldWidths(t *testing.T) {
	agent, id := strings.Repeat("agent-", 6)+"1", "google-research-identify-contrails-reduce-global-warming"
	rows := [][]string{{"agent", "competition", "isolation", "score", "next"}, {agent, id, "not isolated", "0.97778 ± 0.00321", "silver: 0.00278, 2 up"}, {"dummy", "demo", "sandbox", "-", "-"}}
	var lines []string
	for _, row := range rows {
		line := ""
		for i, w := range []int{len(agent), len(id), 12, 17, 21} {
			line += row[i] + strings.Repeat(" ", w+2-utf8.RuneCountInString(row[i]))
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	text := strings.Join(lines, "\n") + "\n"
	for width := 60; width < 200; width++ {
		folded := Fold(text, 2, width)
		for line := range strings.Lines(folded) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("at %d a line of %d:\n%s", width, n, folded)
			}
		}
		for _, row := range rows {
			for _, cell := range row {
				if !strings.Contains(folded, cell) {
					t.Fatalf("at %d no %q in\n%s", width, cell, folded)
				}
			}
		}
	}
}
