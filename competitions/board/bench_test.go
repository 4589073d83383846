package board

import (
	"fmt"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
)

func report(id string, medal bool) (r grading.Report) {
	r.CompetitionID, r.SubmissionExists, r.ValidSubmission = id, true, true
	r.GoldMedal, r.AnyMedal = medal, medal
	return r
}

// reports are of an agent with some runs at each competition.
func reports(agent, competitions int, runs func(competition int) int) (list []grading.Graded, ids []string) {
	for c := range competitions {
		id := fmt.Sprintf("c%02d", c)
		ids = append(ids, id)
		for r := range runs(c) {
			medal := (agent*7+c*5+r*3)%10 < 3
			list = append(list, grading.Graded{Report: report(id, medal)})
		}
	}
	return list, ids
}

func BenchmarkCompare(b *testing.B) {
	for _, c := range []struct {
		name         string
		competitions int
		runs         func(agent, competition int) int
	}{
		{"3 seeds", 75, func(_, _ int) int { return 3 }},
		{"unequal", 75, func(a, c int) int { return 2 + (a+c)%9 }},
		{"36 seeds", 2, func(_, _ int) int { return 36 }},
	} {
		first, ids := reports(0, c.competitions, func(i int) int { return c.runs(0, i) })
		second, _ := reports(1, c.competitions, func(i int) int { return c.runs(1, i) })
		b.Run(fmt.Sprint(c.name, "/all"), func(b *testing.B) {
			for b.Loop() {
				if _, err := Compare(first, second, ids); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint(c.name, "/medals"), func(b *testing.B) {
			for b.Loop() {
				MedalP(first, second, ids)
			}
		})
	}
}
