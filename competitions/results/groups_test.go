package results

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/grading"
)

// attemptOf is an attempt with conditions beside a time limit.
func attemptOf(agent, program, run, key, set string) *Attempt {
	a := &Attempt{Agent: agent, Program: program, RunID: run, AttemptAction: key, Graded: true}
	a.Report.CompetitionID, a.Report.Conditions = "demo-digits", append([]string{"isolation=sandbox", "task=own"}, strings.Fields(set)...)
	return a
}

// TestGroups divides attempts by program and class and leaves out what does not count.
func TestGroups(t *testing.T) {
	ungraded := attemptOf("a", "1", "r1", "7", "")
	ungraded.Graded = false
	groups, aside := Groups([]*Attempt{
		attemptOf("b", "", "r1", "0", "time=10m"), attemptOf("a", "1", "r1", "1", "time=10m"), attemptOf("a", "2", "r2", "2", "time=10m"), attemptOf("a", "2", "r2", "3", "time=11m"), attemptOf("a", "2", "r2", "4", "time=11m"),
		attemptOf("a", "2", "r2", "5", "data=rehearsal"), attemptOf("a", "2", "r3", "6", "forked=0123@1h"), ungraded, attemptOf("a", "2", "r2", "8", "provisional=provider_failed"),
	})
	const lacks = ", cpus/memory/gpus/network/budget/feedback/knowledge not recorded"
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprintf("%s %s newest=%v %d: %s", g.Agent, g.Program, g.Newest, len(g.Attempts), strings.TrimSuffix(g.Class, ", rehearsal")))
	}
	if diff := cmp.Diff([]string{
		"a 2 newest=true 2: isolation sandbox, task own, time 11m" + lacks, "a 2 newest=true 1: isolation sandbox, task own, time 10m" + lacks, "a 2 newest=true 1: isolation sandbox, task own (rehearsal), time/" + lacks[2:],
		"a 1 newest=false 1: isolation sandbox, task own, time 10m" + lacks, "b  newest=true 1: isolation sandbox, task own, time 10m" + lacks,
	}, got); diff != "" {
		t.Error(diff)
	}
	if want := "3 attempts are not compared: 1 fork, 1 not final, 1 not graded"; aside.String() != want {
		t.Errorf("aside: %q", aside)
	}
}

// TestTally has shares of attempts at competitions with a leaderboard, none of rehearsals,
// and the cost of a medal where all costs are known.
func TestTally(t *testing.T) {
	cost := func(usd float64) *Usage { return &Usage{CostUSD: &usd} }
	gold, none, unranked, rehearsal := attemptOf("a", "", "r", "1", ""), attemptOf("a", "", "r", "2", ""), attemptOf("a", "", "r", "3", ""), attemptOf("a", "", "r", "4", "data=rehearsal")
	gold.Report.GoldMedal, gold.Made.Usage, none.Made.Usage, unranked.Made.Usage = true, cost(1.5), cost(0.5), cost(4)
	unranked.Report.Gold = grading.Cutoff(math.NaN())
	unranked.Report.GoldMedal, rehearsal.Report.GoldMedal = true, true
	for _, tt := range []struct {
		name            string
		list            []*Attempt
		medals, ranked  int
		share, perMedal float64
	}{
		{"half", []*Attempt{gold, none}, 1, 2, 50, 2},
		{"without a leaderboard", []*Attempt{gold, unranked}, 1, 1, 100, 5.5},
		{"unknown cost", []*Attempt{gold, rehearsal}, 1, 1, 100, 0},
		{"rehearsal", []*Attempt{rehearsal}, 0, 0, 0, 0},
		{"no medal", []*Attempt{none}, 0, 1, 0, 0},
	} {
		sum := TallyOf(tt.list)
		share, ok := sum.Share()
		per := 0.0
		if c := sum.Cost; c != nil && c.PerMedal != nil {
			per = *c.PerMedal
		}
		if sum.Medals() != tt.medals || sum.Ranked != tt.ranked || share != tt.share || ok != (tt.ranked > 0) || per != tt.perMedal {
			t.Errorf("%s: %d of %d, %v %v, %v a medal", tt.name, sum.Medals(), sum.Ranked, share, ok, per)
		}
	}
	if TallyOf([]*Attempt{gold, none}).Cost.USD != 2 || *gold.Made.Usage.CostUSD != 1.5 {
		t.Error("the cost of an attempt changed")
	}
}
