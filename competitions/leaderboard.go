package competitions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// FormatLeaderboard writes scores in rank order as a leaderboard file: a line
// a score, with a count for several in a row.
func FormatLeaderboard(scores []float64) []byte {
	var b strings.Builder
	for i := 0; i < len(scores); {
		n := 1
		for i+n < len(scores) && scores[i+n] == scores[i] {
			n++
		}
		b.WriteString(strings.TrimSuffix(table.FormatFloat(scores[i]), ".0"))
		if n > 1 {
			fmt.Fprintf(&b, " %d", n)
		}
		b.WriteByte('\n')
		i += n
	}
	return []byte(b.String())
}

// BoardChange is the difference between a leaderboard and an earlier one. Teams have no
// names in leaderboard files, so scores are compared by place.
type BoardChange struct {
	TeamsBefore int `json:"teams_before"`
	Teams       int `json:"teams"`
	// Added and Removed are the scores that only one of the two has, each as
	// often as it has it more.
	Added   int `json:"scores_added"`
	Removed int `json:"scores_removed"`
	// Places is how many places that both have hold another score, First the
	// first of them; 0 for none.
	Places int `json:"places_changed"`
	First  int `json:"first_place_changed"`

	Before Thresholds `json:"thresholds_before"`
	After  Thresholds `json:"thresholds"`
}

// Changed reports whether there is any difference.
func (c BoardChange) Changed() bool { return c.Added+c.Removed+c.Places > 0 }

// CompareBoards returns the difference between the second leaderboard and the first.
func CompareBoards(before, after Medals) BoardChange {
	c := BoardChange{
		TeamsBefore: len(before.Scores), Teams: len(after.Scores), Before: before.Thresholds, After: after.Thresholds,
	}
	for i := range min(len(before.Scores), len(after.Scores)) {
		if before.Scores[i] == after.Scores[i] {
			continue
		}
		if c.Places++; c.First == 0 {
			c.First = i + 1
		}
	}
	// One pass over both in order.
	x, y := slices.Clone(before.Scores), slices.Clone(after.Scores)
	slices.Sort(x)
	slices.Sort(y)
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0] == y[0]:
			x, y = x[1:], y[1:]
		case x[0] < y[0]:
			c.Removed, x = c.Removed+1, x[1:]
		default:
			c.Added, y = c.Added+1, y[1:]
		}
	}
	c.Removed, c.Added = c.Removed+len(x), c.Added+len(y)
	return c
}
