package firstscreen

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// TestStates has every way in which an attempt and its grading may stand.
func TestStates(t *testing.T) {
	step := func(status event.Status, started bool, outputs map[string]string) *history.StepSummary {
		s := &history.StepSummary{StepFinished: event.StepFinished{Status: status, Outputs: outputs}}
		if started {
			s.Started = time.Unix(1, 0)
		}
		return s
	}
	ended := step(event.Ran, true, map[string]string{"outcome": `"finished"`})
	graded := func(medal string) *history.StepSummary {
		return step(event.Cached, false, map[string]string{"score": "0.5", "medal": medal})
	}
	above := &grading.Graded{}
	above.AboveMedian, above.Score = true, new(grading.Number)
	for name, tt := range map[string]struct {
		attempt, grade *history.StepSummary
		report         *grading.Graded
		live           bool
		want           State
	}{
		"nothing yet":                     {nil, nil, nil, true, Waiting},
		"never begun":                     {nil, nil, nil, false, NotRun},
		"running":                         {step("", true, nil), nil, nil, true, Running},
		"killed":                          {step("", true, nil), nil, nil, false, Stopped},
		"not graded yet":                  {ended, nil, nil, true, Running},
		"cancelled":                       {step(event.Cancelled, true, nil), nil, nil, true, Stopped},
		"the step failed":                 {step(event.Failed, true, nil), step(event.Skipped, false, nil), nil, true, Failed},
		"the grading failed":              {ended, step(event.Failed, true, nil), nil, false, Failed},
		"the agent failed":                {step(event.Ran, true, map[string]string{"outcome": `"agent_failed"`}), step(event.Ran, true, map[string]string{"score": "null"}), nil, false, Failed},
		"the agent failed, not graded":    {step(event.Ran, true, map[string]string{"outcome": `"agent_failed"`}), step(event.Skipped, false, nil), nil, true, Failed},
		"invalid":                         {ended, step(event.Ran, true, map[string]string{"score": "null"}), nil, false, Invalid},
		"stopped by its limit but scored": {step(event.Ran, true, map[string]string{"outcome": `"timed_out"`}), graded(`"bronze"`), nil, false, Bronze},
		"gold":                            {ended, graded(`"gold"`), nil, false, Gold},
		"above the median":                {ended, graded(`"none"`), above, false, Median},
		"no medal":                        {ended, graded(`"none"`), nil, false, Miss},
		"a medal of no such name":         {ended, graded(`"<b>"`), nil, false, Miss},
	} {
		j := attempts.Journal{Live: tt.live, Pairs: []attempts.Pair{{Attempt: "a", Grade: "g"}}, Step: func(address string) *history.StepSummary {
			return map[string]*history.StepSummary{"a": tt.attempt, "g": tt.grade}[address]
		}}
		if tt.report != nil {
			j.Reports = map[string]grading.Graded{"g": *tt.report}
		}
		if got := StateOf(j.List()[0]); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestMatrix has the longer of agents and competitions down, and one cell a state where
// there are thousands of attempts.
func TestMatrix(t *testing.T) {
	var all []*results.Attempt
	for agent := range 3 {
		for seed := range 2000 {
			a := &results.Attempt{Agent: fmt.Sprint("agent-", agent), Seed: fmt.Sprint(seed), Graded: true}
			a.Report.CompetitionID, a.Report.Score = "c", new(grading.Number)
			if seed%4 == 0 {
				a.Report.GoldMedal = true
			}
			all = append(all, a)
		}
	}
	s := Source{Link: func(a string) string { return "/" + a }}
	m := s.matrix(all)
	if m.Corner != "Agent" || len(m.Rows) != 3 || len(m.Columns) != 1 {
		t.Fatalf("%s: %d rows and %d columns", m.Corner, len(m.Rows), len(m.Columns))
	}
	want := []Cell{{State: Gold, Title: "500 gold", N: 500}, {State: Miss, Title: "1500 no medal", N: 1500}}
	if diff := cmp.Diff(want, m.Rows[0].Squares[0].Cells); diff != "" {
		t.Error(diff)
	}
	if m = s.matrix(all[:10]); len(m.Rows[0].Squares[0].Cells) != 10 || m.Corner != "Competition" {
		t.Errorf("%d cells of 10 attempts by %s", len(m.Rows[0].Squares[0].Cells), m.Corner)
	}
}

// TestClasses has a letter in each line and a legend, where there are several classes.
func TestClasses(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	board := func(times ...string) []Table {
		var reports []grading.Graded
		for i, at := range times {
			g := grading.Graded{Labels: map[string]string{"agent": fmt.Sprint("agent", i)}}
			g.CompetitionID, g.Conditions = "leaf-classification", []string{"time=" + at}
			reports = append(reports, g)
		}
		b, err := aggregate.BoardOf(reports, catalog, nil)
		if err != nil {
			t.Fatal(err)
		}
		return tablesOf(b, "All", nil)
	}
	several := board("2h", "1h", "2h")[0]
	var letters []string
	for _, l := range several.Lines {
		letters = append(letters, l.Class.Letter+" "+l.Name)
	}
	if diff := cmp.Diff([]string{"A agent0", "A agent2", "B agent1"}, letters); diff != "" {
		t.Error(diff)
	}
	name := "isolation unknown, task unknown, time "
	if diff := cmp.Diff([]Class{{"A", name + "2h"}, {"B", name + "1h"}}, several.Classes); diff != "" {
		t.Error(diff)
	}
	// Costs are those of the attempts of a line, not of all with its name.
	var graded []grading.Graded
	var all []*results.Attempt
	for i, at := range []string{"1h", "1h", "2h"} {
		g := grading.Graded{Labels: map[string]string{"agent": "x"}}
		g.CompetitionID, g.Conditions = "leaf-classification", []string{"time=" + at}
		a := results.OfReport(g)
		a.Made.WallSeconds, a.Made.Usage = new(float64), &results.Usage{Source: grading.FromGateway, CostUSD: []*float64{new(1.0), new(2.0), new(4.0)}[i]}
		graded, all = append(graded, g), append(all, a)
	}
	b, err := aggregate.BoardOf(graded, catalog, nil)
	if err != nil {
		t.Fatal(err)
	}
	letters = nil
	for _, l := range tablesOf(b, "All", measured(all))[0].Lines {
		letters = append(letters, l.Class.Letter+" "+l.Name+" "+l.Cost)
	}
	if diff := cmp.Diff([]string{"A x (time 1h) 3.00", "B x (time 2h) 4.00"}, letters); diff != "" {
		t.Error(diff)
	}
	if one := board("1h", "1h")[0]; len(one.Classes) > 0 || !slices.Contains(one.Same, "All attempts: "+name+"1h") {
		t.Errorf("one class: %v, %v", one.Classes, one.Same)
	}
}
