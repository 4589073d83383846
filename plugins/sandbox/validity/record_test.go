package validity

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCheckQueries refuses logs that no server writes.
func TestCheckQueries(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	number := func(f float64) *float64 { return &f }
	log := func() []Query {
		var list []Query
		for i, score := range []float64{0.5, 0.25, 0.75} {
			list = append(list, Query{
				Number: i + 1, Time: start.Add(time.Duration(i) * time.Minute), SHA256: strings.Repeat(fmt.Sprint(i), 64),
				Outcome: QueryScored, Score: number(score), Rank: []int{1, 2, 1}[i],
			})
		}
		return append(list, Query{Time: start, SHA256: "f", Outcome: QueryInvalid, Reason: "x"})
	}
	o := QueryOptions{Most: 3, Every: time.Minute}
	for name, tt := range map[string]struct {
		change func(list []Query) []Query
		lost   int
		want   string
	}{
		"honest":        {func(l []Query) []Query { return l }, 0, ""},
		"older":         {func(l []Query) []Query { l[2].Rank = 0; return l }, 0, ""},
		"clock back":    {func(l []Query) []Query { l[1].Time = start.Add(-time.Hour); return l }, 0, ""},
		"unanswered":    {func(l []Query) []Query { l[2].Outcome, l[2].Score, l[2].Rank = "", nil, 0; return l }, 0, ""},
		"first dropped": {func(l []Query) []Query { l[2].Rank = 1; l[1].Rank = 1; return l[1:] }, 0, "query 1 is missing"},
		"lost":          {func(l []Query) []Query { l[1].Rank = 1; return l[1:] }, 1, ""},
		"too many":      {func(l []Query) []Query { l[2].Number = 4; return l }, 1, "query 4 is there, and the attempt had 3"},
		"renumbered":    {func(l []Query) []Query { l[2].Number = 2; return l }, 0, "query 2 comes after query 2"},
		"early":         {func(l []Query) []Query { l[2].Time = l[1].Time.Add(59 * time.Second); return l }, 0, "query 3 came 59s after"},
		"rank":          {func(l []Query) []Query { l[1].Rank = 1; return l }, 0, "query 2 has rank 1"},
		"score":         {func(l []Query) []Query { l[1].Score = number(0.9); return l }, 0, "query 2 has rank 2"},
		"no score":      {func(l []Query) []Query { l[1].Score = nil; return l }, 0, "its score contradicts"},
		"a free score":  {func(l []Query) []Query { l[3].Score, l[3].Outcome = number(1), QueryScored; return l }, 0, "its score contradicts"},
		"outcome":       {func(l []Query) []Query { l[1].Outcome = "good"; return l }, 0, "unknown outcome"},
		"free": {func(l []Query) []Query {
			for i := range 3 {
				l = append(l, Query{SHA256: fmt.Sprint("x", i), Outcome: QueryInvalid})
			}
			return l
		}, 0, "4 invalid files are free"},
	} {
		err := o.CheckQueries(tt.change(log()), tt.lost)
		if fine := err == nil; fine != (tt.want == "") || !fine && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
