package aggregate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine/step"
)

// run is a report of an agent at a competition without a leaderboard; NaN is no score.
func run(agent, id, seed string, score float64, more ...string) Entry {
	nan, n := grading.Cutoff(math.NaN()), grading.Number(score)
	r := grading.Report{CompetitionID: id, LowerIsBetter: id == "down", Thresholds: grading.Thresholds{Gold: nan, Silver: nan, Bronze: nan, Median: nan}}
	if r.Conditions = more; !math.IsNaN(score) {
		r.Outcome, r.SubmissionExists, r.ValidSubmission, r.Score, r.ExactScore = outcome.Scored, true, true, &n, &n
	}
	return Entry{Agent: agent, Seed: seed, Report: r}
}

func benchmarked(t *testing.T, rule string, pad bool, entries ...Entry) *Board {
	t.Helper()
	SortEntries(entries)
	by := &board.Benchmark{Benchmark: step.Benchmark{Name: "mine", Competitions: []string{"up", "down"}, Aggregate: rule}}
	b, err := NewBoard(entries, Grouping{By: byNothing, Of: func(string) string { return "all" }, PadMissing: pad, Benchmark: by})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func standings(b *Board) (out []string) {
	for _, a := range b.Agents {
		value, _ := a.Ruled.Text()
		out = append(out, fmt.Sprintf("%s %s %s", a.PlaceText(), a.Name, value))
	}
	return out
}

// TestBenchmark: an agent that lacks a competition has no place and is compared with none,
// unless what is missing counts as no submission; reports elsewhere are left out.
func TestBenchmark(t *testing.T) {
	entries := []Entry{
		run("good", "up", "0", 9), run("good", "down", "0", 1), run("bad", "up", "0", 8), run("bad", "down", "0", math.NaN()),
		run("same", "up", "0", 8), run("same", "down", "0", math.NaN()), run("part", "up", "0", 99), run("good", "other", "0", 1),
	}
	b := benchmarked(t, board.MeanRank, false, slices.Clone(entries)...)
	if diff := cmp.Diff([]string{"1 good 1.00", "2= bad 2.50", "2= same 2.50", " part -"}, standings(b)); diff != "" {
		t.Error(diff)
	}
	text := b.Text("Board", Layout{Width: 200})
	for _, want := range []string{
		"place  agent  mean_rank  95 %  wins  tie group  valid", "part has no place: it lacks a competition of benchmark mine",
		"Left out: 1 reports at competitions that are not of benchmark mine", "Benchmark mine: mean_rank over 2 competitions. Places by the expected rank",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, absent := range []string{"medal %", "G/S/B", "above median", "gold"} {
		if strings.Contains(text, absent) {
			t.Errorf("%q in\n%s", absent, text)
		}
	}
	padded := benchmarked(t, board.MeanRank, true, slices.Clone(entries)...)
	if diff := cmp.Diff([]string{"1 good 1.50", "2 part 2.00", "3= bad 3.25", "3= same 3.25"}, standings(padded)); diff != "" {
		t.Error(diff)
	}
	stored, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var again Board
	if err := json.Unmarshal(stored, &again); err != nil || again.Text("Board", Layout{Width: 200}) != text {
		t.Errorf("%v: read again the board is\n%s", err, again.Text("Board", Layout{Width: 200}))
	}
}

// TestBenchmarkCorners: an agent alone, one in each class, all invalid, rehearsals, and no
// report of the set.
func TestBenchmarkCorners(t *testing.T) {
	alone := []Entry{run("x", "up", "0", 1), run("x", "down", "0", 1)}
	if b := benchmarked(t, board.Elo, false, slices.Clone(alone)...); b.Agents[0].Place != 0 || !strings.Contains(b.Compact("", Stored), "elo compares agents") {
		t.Error(b.Compact("", Stored))
	}
	classes := append(slices.Clone(alone), run("y", "up", "0", 2, "time=1h"), run("y", "down", "0", 2, "time=1h"))
	if b := benchmarked(t, board.Elo, false, classes...); b.Agents[0].Ruled != nil || b.Agents[1].Ruled != nil {
		t.Error("agents of different classes are compared")
	}
	invalid := []Entry{run("x", "up", "0", math.NaN()), run("x", "down", "0", math.NaN()), run("y", "up", "0", math.NaN()), run("y", "down", "0", math.NaN())}
	if diff := cmp.Diff([]string{"1= x 1500.00", "1= y 1500.00"}, standings(benchmarked(t, board.Elo, false, invalid...))); diff != "" {
		t.Error(diff)
	}
	rehearsed := []Entry{run("x", "up", "0", 1, "data=rehearsal"), run("x", "down", "0", 1, "data=rehearsal"), run("y", "up", "0", 2, "data=rehearsal"), run("y", "down", "0", 2, "data=rehearsal")}
	b := benchmarked(t, board.NormalisedScore, false, slices.Clone(rehearsed)...)
	if b.Agents[0].Ruled != nil || !strings.Contains(strings.Join(strings.Fields(b.Compact("", Stored)), " "), "A rehearsal has no figure of normalised_score") {
		t.Error(b.Compact("", Stored))
	}
	if b := benchmarked(t, board.MeanRank, false, slices.Clone(rehearsed)...); b.Agents[0].Ruled == nil {
		t.Error("a rehearsal has no mean rank")
	}
	by := &board.Benchmark{Benchmark: step.Benchmark{Name: "mine", Competitions: []string{"up"}, Aggregate: board.Elo}}
	how := Grouping{Of: func(string) string { return "all" }, Benchmark: by}
	if _, err := NewBoard(append(slices.Clone(alone), rehearsed[2:]...), how); err == nil || !strings.Contains(err.Error(), "rehearsal") {
		t.Errorf("real and rehearsed: %v", err)
	}
	if _, err := NewBoard([]Entry{run("x", "other", "0", 1)}, how); err == nil || !strings.Contains(err.Error(), "no report is at a competition of benchmark mine") {
		t.Errorf("no report: %v", err)
	}
}

// TestRankOfRuns: a run without a score is the worst, also beside others of its agent.
func TestRankOfRuns(t *testing.T) {
	b := benchmarked(t, board.MeanRank, false,
		run("risky", "up", "0", 9), run("risky", "up", "1", math.NaN()), run("risky", "down", "0", 1), run("risky", "down", "1", math.NaN()),
		run("safe", "up", "0", 8), run("safe", "up", "1", 8), run("safe", "down", "0", 2), run("safe", "down", "1", 2))
	if diff := cmp.Diff([]string{"1= risky 1.50", "1= safe 1.50"}, standings(b)); diff != "" {
		t.Error(diff)
	}
}
