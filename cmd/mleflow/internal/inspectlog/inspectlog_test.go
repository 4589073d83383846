package inspectlog

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/models/transcript/atif"
)

// TestSample makes a sample with a tool call, a failed request and a graded
// snapshot.
func TestSample(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	exchange := func(n int) map[string]any { return map[string]any{"sequence": n, "provider": "openai", "seconds": 1.5} }
	tr := &atif.Trajectory{Agent: atif.Agent{ModelName: "m"}, Steps: []*atif.Step{
		{Source: "user", Message: "Solve it."},
		{Source: "agent", Message: "I look.", Reasoning: "Files first.", Timestamp: "2026-01-02T03:04:01.000Z", Extra: exchange(1),
			ToolCalls:   []atif.ToolCall{{ID: "c1", Function: "bash", Arguments: json.RawMessage(`{"cmd":"ls \ud800"}`)}},
			Observation: &atif.Observation{Results: []atif.Result{{CallID: "c1", Content: "no such file", Extra: map[string]any{"is_error": true}}}}},
		{Source: "system", Message: "The model request failed (500)", Timestamp: "2026-01-02T03:04:03.000Z", Extra: exchange(2)},
	}}
	value := 0.5
	a := &Attempt{Attempt: &results.Attempt{}, Started: began, Ended: began.Add(time.Minute)}
	a.Graded, a.Made.Outcome = true, "timed_out"
	a.Report.CompetitionID = "demo-digits"
	a.Snapshots = []results.Snapshot{{Seconds: 2, Outcome: "scored", Score: &value, Medal: "none"}, {Seconds: 4, Outcome: "invalid"}}
	a.Talk = func() (*atif.Trajectory, map[string]*Usage, error) { return tr, map[string]*Usage{}, nil }
	s, err := a.sample("run", "demo-digits", 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Messages) != 3 || s.Input != "Solve it." || s.Output.Completion != "I look." || s.Turns != 2 {
		t.Errorf("got %d messages, input %q, output %q, %d turns", len(s.Messages), s.Input, s.Output.Completion, s.Turns)
	}
	tool := s.Messages[2]
	if tool.Role != "tool" || tool.Function != "bash" || tool.CallID != s.Messages[1].ToolCalls[0].ID || tool.Error == nil {
		t.Errorf("got the tool message %+v", tool)
	}
	if bytes.Contains(s.Messages[1].ToolCalls[0].Arguments, []byte("ud800")) {
		t.Error("half of a surrogate pair is kept")
	}
	var kinds []string
	for _, e := range s.Events {
		kind := e.Event
		if e.scoreEvent != nil && e.Intermediate {
			kind = "snapshot"
		}
		kinds = append(kinds, kind)
	}
	if len(kinds) < 5 || kinds[0] != "model" || kinds[1] != "snapshot" || kinds[2] != "model" || kinds[3] != "snapshot" || kinds[4] != "score" {
		t.Errorf("got the events %v", kinds)
	}
	if failed := s.Events[2].modelEvent; failed.Error == "" || failed.InputRefs[0] != [2]int{0, 3} {
		t.Errorf("got the failed request %+v", failed)
	}
	if s.Limit == nil || s.Limit.Type != "time" || s.Error != nil {
		t.Errorf("got the limit %v and the error %v", s.Limit, s.Error)
	}
}

// TestScores explains a score by the attempt's end. Attempts that do not count have none.
func TestScores(t *testing.T) {
	a := &Attempt{Attempt: &results.Attempt{Graded: true, ExitCode: 1, Log: "KeyError: 'id'"}}
	a.Made.Outcome, a.Report.CompetitionID, a.Report.Reason = "agent_failed", "demo-digits", "the file does not exist"
	s, err := a.sample("run", "demo-digits", 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Scores["any_medal"].Explanation, "exit status 1: KeyError: 'id'"; got != want {
		t.Errorf("the score is explained by %q, want %q", got, want)
	}
	for _, set := range []string{"provisional=provider_failed", "forked=abc"} {
		a.Report.Conditions = []string{set}
		if s, err = a.sample("run", "demo-digits", 1); err != nil || len(s.Scores) > 0 {
			t.Errorf("%s: %v, %v", set, s.Scores, err)
		}
	}
}

// TestMetrics has its expectations from numpy: mean, and std with ddof=1 over the
// root of n.
func TestMetrics(t *testing.T) {
	one := func(id string, v int) summary {
		return summary{outline: outline{ID: id, Scores: map[string]score{"any_medal": {Value: v}}}}
	}
	all := []summary{one("a", 1), one("a", 0), one("b", 1), one("c", 0)}
	r := resultsOf(all, reduce(all)).Scores[0]
	if r.Metrics["mean"].Value != 0.5 || r.Metrics["stderr"].Value < 0.28867 || r.Metrics["stderr"].Value > 0.28868 || r.Scored != 3 {
		t.Errorf("got %+v", r)
	}
}

// TestPlace keeps attempts of the same competition and seed apart.
func TestPlace(t *testing.T) {
	at := func(seed, address string) *Attempt {
		a := &Attempt{Attempt: &results.Attempt{}}
		a.Seed, a.Address, a.Report.CompetitionID = seed, address, "x"
		return a
	}
	l := &Log{Attempts: []*Attempt{at("0", "p"), at("10", "q"), at("2", "r"), at("2", "s"), at("2", "s")}}
	ids, epochs := l.place()
	for i, want := range []string{"x", "x", "x", "x s", "x s #2"} {
		if ids[i] != want || epochs[i] != []int{1, 3, 2, 2, 2}[i] {
			t.Errorf("attempt %d: got %q, epoch %d", i, ids[i], epochs[i])
		}
	}
}
