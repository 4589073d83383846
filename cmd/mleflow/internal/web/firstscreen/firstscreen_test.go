package firstscreen

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// TestStates has every way in which an attempt and its grading may stand.
func TestStates(t *testing.T) {
	step := func(status event.Status, started bool, outputs map[string]string) *ledger.StepSummary {
		s := &ledger.StepSummary{Status: status, Outputs: outputs}
		if started {
			s.Started = time.Unix(1, 0)
		}
		return s
	}
	ended := step(event.Ran, true, map[string]string{"outcome": `"finished"`})
	graded := func(medal string) *ledger.StepSummary {
		return step(event.Cached, false, map[string]string{"score": "0.5", "medal": medal})
	}
	above := &grading.Graded{}
	above.AboveMedian = true
	for name, tt := range map[string]struct {
		attempt, grade *ledger.StepSummary
		report         *grading.Graded
		live           bool
		want           State
	}{
		"nothing yet":                     {nil, nil, nil, true, Waiting},
		"never begun":                     {nil, nil, nil, false, Stopped},
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
		s := Source{Live: tt.live, Step: func(address string) *ledger.StepSummary {
			return map[string]*ledger.StepSummary{"a": tt.attempt, "g": tt.grade}[address]
		}}
		pair, a := Pair{"a", "g"}, Attempt{}
		a.read(s.Step(pair.Attempt), s.Step(pair.Grade))
		if got := s.state(pair, &a, tt.report); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestNames finds agent, competition and seed of attempts that have no report.
func TestNames(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var graded grading.Graded
	graded.CompetitionID, graded.Labels = "mine", map[string]string{"agent": "aide", "seed": "7"}
	for name, tt := range map[string]struct {
		reports map[string]grading.Graded
		address string
		want    [3]string
	}{
		"the shipped form":          {nil, `step.agent-run.solve["dummy/leaf-classification/2"]`, [3]string{"dummy", "leaf-classification", "2"}},
		"another order":             {nil, `step.agent-run.solve["leaf-classification/2"]`, [3]string{"(unlabelled)", "leaf-classification", "2"}},
		"an agent with a slash":     {nil, `step.agent-run.solve["a/b/leaf-classification/2"]`, [3]string{"a/b", "leaf-classification", "2"}},
		"learned from a graded one": {map[string]grading.Graded{`step.grade.s["7/mine/aide"]`: graded}, `step.agent-run.solve["8/mine/dummy"]`, [3]string{"dummy", "mine", "8"}},
		"no key":                    {nil, `step.agent-run.solve`, [3]string{"(unlabelled)", "step.agent-run.solve", ""}},
	} {
		s := Source{Catalog: catalog, Reports: tt.reports, Step: func(string) *ledger.StepSummary { return nil }, Pairs: []Pair{{tt.address, "none"}}}
		for address := range tt.reports {
			s.Pairs = append(s.Pairs, Pair{"", address})
		}
		for _, a := range s.attempts() {
			if a.Address == tt.address {
				if got := [3]string{a.Agent, a.Competition, a.Seed}; got != tt.want {
					t.Errorf("%s: %q", name, got)
				}
			}
		}
	}
}

// TestPairs pairs by the plan, and by the key of steps without one.
func TestPairs(t *testing.T) {
	kinds := map[string]string{`x["1"]`: "agent-run", `x["2"]`: "agent-run", `y["1"]`: "grade", `y["2"]`: "grade", `z["3"]`: "grade", "p": "prepare"}
	list := []string{"p", `x["1"]`, `x["2"]`, `y["1"]`, `y["2"]`, `z["3"]`}
	planned := map[string]string{`y["1"]`: `x["2"]`, `y["2"]`: `x["1"]`}
	for name, tt := range map[string]struct {
		of   map[string]string
		want []Pair
	}{
		"by the plan": {planned, []Pair{{`x["1"]`, `y["2"]`}, {`x["2"]`, `y["1"]`}, {"", `z["3"]`}}},
		"by key":      {nil, []Pair{{`x["1"]`, `y["1"]`}, {`x["2"]`, `y["2"]`}, {"", `z["3"]`}}},
	} {
		got := PairsOf(list, func(a string) string { return kinds[a] }, func(a string) string { return tt.of[a] })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestMatrix has the longer of agents and competitions down, and one cell a state where
// there are thousands of attempts.
func TestMatrix(t *testing.T) {
	var all []Attempt
	for agent := range 3 {
		for seed := range 2000 {
			a := Attempt{Agent: fmt.Sprint("agent-", agent), Competition: "c", Seed: fmt.Sprint(seed), State: Miss}
			if seed%4 == 0 {
				a.State = Gold
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
