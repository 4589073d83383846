package results

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// attemptOf is an attempt at a competition with a key, in a run, under conditions.
func listedAttempt(run, key, agent, program string, conditions ...string) *Attempt {
	a := &Attempt{RunID: run, AttemptAction: key, Agent: agent, Program: program, Graded: true}
	a.Report.CompetitionID, a.Report.Conditions = "x", conditions
	return a
}

// TestListed keeps classes apart on one board, and counts what it sets aside.
func TestListed(t *testing.T) {
	masked := listedAttempt("2", "masked", "aide", "new")
	masked.Report.CompetitionVersion = "v1m"
	waiting := listedAttempt("2", "waiting", "aide", "new")
	waiting.Graded = false
	list := []*Attempt{
		listedAttempt("1", "a", "aide", "new"), listedAttempt("2", "a", "aide", "new"), // one attempt in two runs
		listedAttempt("0", "old", "aide", "old"), listedAttempt("2", "time", "aide", "new", "time=24h"),
		listedAttempt("0", "other class", "aide", "old", "time=1h"),                                            // no newer program under this class
		listedAttempt("2", "seed 0", "env", "one program"), listedAttempt("2", "seed 1", "env", "and another"), // of one run
		listedAttempt("2", "rehearsal", "aide", "new", "data=rehearsal"), listedAttempt("2", "fork", "aide", "new", "forked=a@1s"), masked, waiting,
	}
	own, aside := Listed(list)
	var keys []string
	for _, a := range own {
		keys = append(keys, a.Key())
	}
	if diff := cmp.Diff([]string{"a", "time", "other class", "seed 0", "seed 1", "fork"}, keys); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Aside{asideRehearsal: 1, asideMasked: 1, asideProgram: 1}, aside); diff != "" {
		t.Error(diff)
	}
	if own, aside := Listed(list[7:8]); len(own) != 1 || len(aside) != 0 {
		t.Errorf("rehearsals alone: %d, %v", len(own), aside)
	}
}

// TestListedGrades keeps each grade of an attempt that several steps of a run graded, under
// other labels or at other versions, and takes a run that is given twice once.
func TestListedGrades(t *testing.T) {
	var list []*Attempt
	for _, grade := range []string{"whole", "named", "whole", "named"} {
		a := listedAttempt("1", "attempt", grade, "")
		a.GradeAddress = "step.grade." + grade
		list = append(list, a)
	}
	own, aside := Listed(list)
	if len(own) != 2 || own[0].Agent != "whole" || own[1].Agent != "named" || len(aside) != 0 {
		t.Errorf("%d listed, %v", len(own), aside)
	}
}

// TestCostOf divides the cost by the medals, if all of it is known, and names its least sure
// source.
func TestCostOf(t *testing.T) {
	costs := func(source string, usd float64, gold bool, conditions ...string) *Attempt {
		a := listedAttempt("1", "", "aide", "", conditions...)
		a.Made.Usage, a.Report.GoldMedal = &Usage{Source: source, CostUSD: &usd}, gold
		return a
	}
	estimated := costs(grading.FromGateway, 2, false)
	estimated.Made.Usage.EstimatedUSD = new(float64)
	each := func(usd float64) *float64 { return &usd }
	for name, tt := range map[string]struct {
		list []*Attempt
		want *Cost
	}{
		"unknown":       {[]*Attempt{listedAttempt("1", "", "aide", "")}, nil},
		"measured":      {[]*Attempt{costs(grading.FromGateway, 2, true), costs(grading.FromGateway, 1, true)}, &Cost{USD: 3, Attempts: 2, Medals: 2, PerMedal: each(1.5), Source: MeasuredCost}},
		"estimated":     {[]*Attempt{costs(grading.FromGateway, 2, true), estimated}, &Cost{USD: 4, Attempts: 2, Medals: 1, PerMedal: each(4), Source: EstimatedCost}},
		"claimed":       {[]*Attempt{costs(grading.FromAgent, 2, true), estimated}, &Cost{USD: 4, Attempts: 2, Medals: 1, PerMedal: each(4), Source: ClaimedCost}},
		"no medal":      {[]*Attempt{costs(grading.FromGateway, 2, false)}, &Cost{USD: 2, Attempts: 1, Source: MeasuredCost}},
		"one unknown":   {[]*Attempt{costs(grading.FromGateway, 2, true), listedAttempt("1", "", "aide", "")}, &Cost{USD: 2, Attempts: 1, Unknown: 1, Medals: 1, Source: MeasuredCost}},
		"not final":     {[]*Attempt{costs(grading.FromGateway, 2, true), costs(grading.FromGateway, 9, true, "provisional=provider_failed")}, &Cost{USD: 11, Attempts: 2, Medals: 1, PerMedal: each(11), Source: MeasuredCost}},
		"nothing there": {nil, nil},
	} {
		if diff := cmp.Diff(tt.want, CostOf(tt.list)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestMedalChange orders medals; whatever else a step says is none.
func TestMedalChange(t *testing.T) {
	for _, tt := range []struct {
		was, is string
		want    int
	}{{"none", "bronze", 1}, {"", "none", 0}, {"gold", "silver", -1}, {"silver", "", -2}, {"gold", "gold", 0}} {
		if got := MedalChange(tt.was, tt.is); got != tt.want {
			t.Errorf("%s to %s: %d, not %d", tt.was, tt.is, got, tt.want)
		}
	}
}

// TestBetween compares chosen attempts at some competitions, of several classes and programs.
func TestBetween(t *testing.T) {
	at := func(id string, medal bool, score float64, conditions ...string) *Attempt {
		a := listedAttempt("1", "", "aide", id, conditions...)
		n := grading.Number(score)
		a.Report.CompetitionID, a.Report.BronzeMedal, a.Report.Score, a.Report.ExactScore = id, medal, &n, &n
		return a
	}
	first := Side{"a", []*Attempt{at("x", true, 0.9), at("x", true, 0.9, "time=1h"), at("y", false, 0.5), at("z", true, 1)}}
	second := Side{"b", []*Attempt{at("x", false, 0.1), at("y", true, 0.6), at("other", true, 1)}}
	c, err := Between(first, second, []string{"x", "y", "z"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{2, 3, 2, 1, 0, []string{"x"}, []string{"y"}, 1, 1}, []any{c.Competitions, c.FirstRuns, c.SecondRuns, c.FirstLeft, c.SecondLeft, c.Won, c.Lost, c.Better, c.Worse}); diff != "" {
		t.Error(diff)
	}
	if _, err := Between(first, second, []string{"z"}); err != board.ErrNothingShared {
		t.Errorf("nothing shared: %v", err)
	}
}
