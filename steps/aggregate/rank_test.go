package aggregate

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// unrankedBoard is a board of competitions without a leaderboard, of the scores of agents at
// each; NaN is no score. Of "down" a lower score is better.
func unrankedBoard(t *testing.T, scores map[string][]float64, ids ...string) *Board {
	t.Helper()
	nan := grading.Cutoff(math.NaN())
	var entries []Entry
	for agent, list := range scores {
		for i, score := range list {
			n := grading.Number(score)
			r := grading.Report{CompetitionID: ids[i], LowerIsBetter: ids[i] == "down", Thresholds: grading.Thresholds{Gold: nan, Silver: nan, Bronze: nan, Median: nan}}
			if r.Outcome = outcome.Missing; !math.IsNaN(score) {
				r.Outcome, r.SubmissionExists, r.ValidSubmission, r.Score, r.ExactScore = outcome.Scored, true, true, &n, &n
			}
			entries = append(entries, Entry{Agent: agent, Seed: "0", Report: r})
		}
	}
	SortEntries(entries)
	b, err := NewBoard(entries, Grouping{By: byNothing, Of: func(string) string { return "all" }})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRank orders agents by their mean rank where no competition has a leaderboard.
func TestRank(t *testing.T) {
	b := unrankedBoard(t, map[string][]float64{
		"none": {math.NaN(), math.NaN()}, "good": {0.9, 1}, "same": {0.5, 7}, "also": {0.5, 7},
	}, "up", "down")
	var got []string
	for _, a := range b.Agents {
		got = append(got, fmt.Sprintf("%s %s %v %d", a.PlaceText(), a.Name, a.Rank.Mean, a.Rank.Wins))
	}
	if diff := cmp.Diff([]string{"1 good 1 2", "2= also 2.5 0", "2= same 2.5 0", "4 none 4 0"}, got); diff != "" {
		t.Error(diff)
	}
	text := b.Summary(Layout{Width: 100})
	if !strings.HasPrefix(text, "place  agent  mean rank  wins  valid\n1      good        1.00     2    2/2\n") {
		t.Errorf("the board is\n%s", text)
	}
	// One that an earlier version stored has no order.
	for i := range b.Agents {
		b.Agents[i].Rank, b.Agents[i].Place = nil, 1
	}
	stored, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var again Board
	if err := json.Unmarshal(stored, &again); err != nil || again.Summary(Layout{Width: 100}) != text {
		t.Errorf("%v, read again:\n%s", err, again.Summary(Layout{Width: 100}))
	}
}

// TestRankInterval has an interval from five competitions on, within the ranks that there
// are, and no rank of a single competition or agent.
func TestRankInterval(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e"}
	b := unrankedBoard(t, map[string][]float64{"x": {1, 1, 1, 1, 0}, "y": {0, 0, 0, 0, 1}}, ids...)
	// By hand: ranks 1, 1, 1, 1, 2, of mean 1.2 and variance 0.2; 2.776 · √(0.2 / 5) = 0.555 is
	// less than the rule of three's 0.738.
	want := &board.Interval{Lower: 1, Upper: grading.Number(1.2 + math.Log(40)/5)}
	if got := b.Agents[0].Rank; float64(got.Mean) != 1.2 || got.Competitions.Lower != want.Lower || math.Abs(float64(got.Competitions.Upper-want.Upper)) > 1e-12 {
		t.Errorf("%+v %+v", got, got.Competitions)
	}
	for name, alone := range map[string]*Board{"agent": unrankedBoard(t, map[string][]float64{"x": {1, 2}}, "a", "b"), "competition": unrankedBoard(t, map[string][]float64{"x": {1}, "y": {2}}, "a")} {
		if alone.Agents[0].Rank != nil {
			t.Errorf("a single %s has a rank", name)
		}
	}
}

// TestRankingIsInKey: no board of the shipped competitions runs again because of mean ranks.
func TestRankingIsInKey(t *testing.T) {
	shipped, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	if anyUnranked(shipped) {
		t.Error("the keys of all boards have changed")
	}
	folder := fstest.MapFS{}
	for i, id := range []string{"a", "b"} {
		folder[id+"/competition.hcl"] = &fstest.MapFile{Data: fmt.Appendf(nil, `competition %q {
  title       = "X"
  category    = "x"
  complexity  = "low"
  description = "X."
  answers     = "private/test.csv"
  sample      = "public/sample_submission.csv"
  prepare {}
  grade { metric = "accuracy" }
}`, id)}
		own, err := competitions.Load(folder)
		if err != nil {
			t.Fatal(err)
		}
		if !anyUnranked(own) {
			t.Errorf("with %d competitions without a leaderboard none is found", i+1)
		}
	}
}
