package results

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine/step"
)

// ended are, for each end of an agent, how a graded attempt ended with a score, with an invalid
// submission and without one, and one that nothing grades.
var ended = map[outcome.End][4]string{
	"":                     {"scored", "invalid submission", "no submission", "not graded"},
	outcome.Finished:       {"scored", "invalid submission", "no submission", "not graded"},
	outcome.NoSubmission:   {"scored, no submission", "invalid submission", "no submission", "no submission"},
	outcome.TimedOut:       {"scored, timed out", "invalid submission", "timed out", "timed out"},
	outcome.StoppedEarly:   {"scored, stopped early", "invalid submission", "stopped early", "stopped early"},
	outcome.OutOfMemory:    {"scored, out of memory", "invalid submission", "out of memory", "out of memory"},
	outcome.OutOfDisk:      {"scored, out of disk", "invalid submission", "out of disk", "out of disk"},
	outcome.OutOfBudget:    {"scored, out of budget", "invalid submission", "out of budget", "out of budget"},
	outcome.ProviderFailed: {"provider failed", "provider failed", "provider failed", "provider failed"},
	outcome.BudgetTooSmall: {"budget too small", "budget too small", "budget too small", "budget too small"},
	outcome.DataChanged:    {"scored, data changed", "invalid submission", "data changed", "data changed"},
	outcome.AgentFailed:    {"scored, agent failed", "invalid submission", "agent failed", "agent failed"},
	outcome.MachineFailed:  {"machine failed", "machine failed", "machine failed", "machine failed"},
}

// standing are, for each phase, the words of an attempt without a grade whose agent has not
// ended, of one whose agent finished, and their moods.
var standing = map[Phase][4]string{
	Waiting:     {"waiting", "", "not graded yet", ""},
	Running:     {"running", "", "not graded yet", ""},
	Interrupted: {"interrupted", "bad", "interrupted", "bad"},
	NotRun:      {"not run", "", "not graded yet", ""},
	Failed:      {"failed", "bad", "not graded", "bad"},
	Done:        {"not graded", "", "not graded", ""},
}

// with is an attempt whose agent and submission ended in some way. The conditions are those
// that an end of the environment has.
func ending(end outcome.End, graded bool, submission outcome.Submission) *Attempt {
	a := &Attempt{Graded: graded, Made: Made{Outcome: end}}
	a.Report.Outcome = submission
	a.Report.SubmissionExists, a.Report.ValidSubmission = submission == outcome.Scored || submission == outcome.Invalid, submission == outcome.Scored
	if submission == outcome.Scored {
		n := grading.Number(0.5)
		a.Report.Score, a.Report.ExactScore = &n, &n
	}
	if end.Environmental() {
		a.Report.Conditions = []string{step.Provisional + "=" + string(end)}
	}
	return a
}

// TestEnded has a row for every end of an agent and every phase.
func TestEnded(t *testing.T) {
	submissions := []outcome.Submission{outcome.Scored, outcome.Invalid, outcome.Missing, ""}
	for _, end := range append(outcome.Ends(), "") {
		row, ok := ended[end]
		if !ok {
			t.Errorf("the table has no row for %s", end)
			continue
		}
		for i, submission := range submissions {
			for _, phase := range []Phase{"", Done} {
				a := ending(end, submission != "", submission)
				a.Phase = phase
				got, mood := a.Ended()
				if got != row[i] {
					t.Errorf("%s, submission %s: %q, want %q", end, submission, got, row[i])
				}
				want := Bad
				switch unfinished := end != "" && end != outcome.Finished; {
				case got == "scored":
					want = Good
				case submission == outcome.Scored && !end.Environmental():
					want = Fair
				case submission == "" && !unfinished:
					want = ""
				}
				if mood != want {
					t.Errorf("%s, submission %s: mood %q, want %q", end, submission, mood, want)
				}
				// A score that counts has no reason against it, whatever the agent's end is.
				if score := a.NoScore(); submission != "" && (score == "") != (mood == Good || mood == Fair) {
					t.Errorf("%s, submission %s: no score because of %q, mood %q", end, submission, score, mood)
				}
				// A fork ends as others do, but its score does not count.
				if a.Report.Conditions = append(slices.Clone(a.Report.Conditions), "forked=abc@1"); submission != "" {
					if text, _ := a.Ended(); text != got || a.NoScore() != "forked" {
						t.Errorf("a fork, %s, submission %s: %q, no score because of %q", end, submission, text, a.NoScore())
					}
				}
			}
		}
	}
	for name, phase := range phases(t) {
		row, ok := standing[phase]
		if !ok {
			t.Errorf("the table has no row for %s", name)
			continue
		}
		for i, end := range []outcome.End{"", outcome.Finished} {
			a := ending(end, false, "")
			a.Phase = phase
			if got, mood := a.Ended(); got != row[2*i] || string(mood) != row[2*i+1] {
				t.Errorf("%s, agent %q: %q %q, want %q", name, end, got, mood, row[2*i:2*i+2])
			}
			// A grade decides, whatever the phase is.
			if a = ending(end, true, outcome.Scored); a.Phase == phase {
				t.Error("the attempt has a phase")
			}
			if a.Phase = phase; a.NoScore() != "" {
				t.Errorf("%s: no score because of %q", name, a.NoScore())
			}
			if got, mood := a.Ended(); got != "scored" || mood != Good {
				t.Errorf("%s, graded: %q %q", name, got, mood)
			}
		}
	}
}

// phases are the constants of type Phase in the source.
func phases(t *testing.T) map[string]Phase {
	f, err := parser.ParseFile(token.NewFileSet(), "ended.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]Phase{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if of, ok := v.Type.(*ast.Ident); ok && of.Name == "Phase" {
				text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				list[v.Names[0].Name] = Phase(text)
			}
		}
		return true
	})
	if len(list) < 6 {
		t.Fatalf("phases %v", list)
	}
	return list
}

// TestScoresThatAreNone names scores that are no finite numbers, and never panics on what a
// file of reports may say.
func TestScoresThatAreNone(t *testing.T) {
	for name, tt := range map[string]struct {
		score, exact *grading.Number
		valid        bool
		ended, none  string
	}{
		"NaN":                              {number(math.NaN()), number(math.NaN()), true, "NaN", "NaN"},
		"infinite":                         {number(math.Inf(-1)), number(math.Inf(-1)), true, "infinite", "infinite"},
		"the largest number":               {number(math.MaxFloat64), number(math.MaxFloat64), true, "scored", ""},
		"not exact":                        {number(1), nil, true, "scored", ""},
		"valid, of the reference's checks": {nil, nil, true, "scored", ""},
	} {
		a := ending(outcome.Finished, true, outcome.Scored)
		a.Report.Score, a.Report.ExactScore, a.Report.ValidSubmission = tt.score, tt.exact, tt.valid
		if got, _ := a.Ended(); got != tt.ended || a.NoScore() != tt.none {
			t.Errorf("%s: %q, no score because of %q", name, got, a.NoScore())
		}
	}
}

func number(v float64) *grading.Number { n := grading.Number(v); return &n }

// TestReason tells the cause before what follows from it.
func TestReason(t *testing.T) {
	const report = "the file does not exist"
	wall, peak := 600.4, float64(3<<30)
	for name, tt := range map[string]struct {
		end        outcome.End
		submission outcome.Submission
		change     func(*Attempt)
		want       string
	}{
		"scored":                     {outcome.Finished, outcome.Scored, func(a *Attempt) { a.Log = "a warning" }, ""},
		"invalid":                    {outcome.Finished, outcome.Invalid, func(a *Attempt) { a.Report.Reason = "a row is missing" }, "a row is missing"},
		"invalid and timed out":      {outcome.TimedOut, outcome.Invalid, func(a *Attempt) { a.Report.Reason = "a row is missing" }, "a row is missing"},
		"timed out":                  {outcome.TimedOut, outcome.Missing, func(a *Attempt) { a.Report.Reason, a.Made.WallSeconds = report, &wall }, "stopped after 10m0s"},
		"timed out, no time known":   {outcome.TimedOut, outcome.Missing, func(a *Attempt) { a.Report.Reason = report }, "stopped at its time limit"},
		"timed out with a score":     {outcome.TimedOut, outcome.Scored, func(a *Attempt) { a.Made.WallSeconds = &wall }, "stopped after 10m0s"},
		"out of memory":              {outcome.OutOfMemory, outcome.Missing, func(a *Attempt) { a.Report.Reason, a.PeakMemoryBytes = report, &peak }, "killed at its memory limit, used 3072 MiB"},
		"a crash":                    {outcome.AgentFailed, outcome.Missing, func(a *Attempt) { a.Report.Reason, a.Log = report, "ValueError: no column" }, "ValueError: no column"},
		"a crash without a log":      {outcome.AgentFailed, outcome.Missing, func(a *Attempt) { a.Report.Reason = report }, report},
		"no submission":              {outcome.NoSubmission, outcome.Missing, func(a *Attempt) { a.Report.Reason = report }, "the agent ended with exit status 0 and left no submission"},
		"no submission, and a log":   {outcome.NoSubmission, outcome.Missing, func(a *Attempt) { a.Log = "nothing to do" }, "the agent ended with exit status 0 and left no submission: nothing to do"},
		"changed data":               {outcome.DataChanged, outcome.Missing, func(a *Attempt) { a.Report.Reason = report }, "the agent changed its data, which are read-only"},
		"a submission without agent": {"", outcome.Missing, func(a *Attempt) { a.Report.Reason = report }, report},
		"a step that failed":         {"", "", func(a *Attempt) { a.Phase, a.Failure, a.Log = Failed, "disk full", "more" }, "disk full"},
		"a grader that failed":       {outcome.Finished, "", func(a *Attempt) { a.Phase, a.Failure = Failed, "metric: no answers" }, "metric: no answers"},
		"not graded yet":             {outcome.TimedOut, "", func(a *Attempt) { a.Phase, a.Log = Running, "x" }, ""},
		"running":                    {"", "", func(a *Attempt) { a.Phase = Running }, ""},
		"a time that is no number":   {outcome.TimedOut, outcome.Missing, func(a *Attempt) { a.Made.WallSeconds = new(float64) }, "stopped after 0s"},
	} {
		a := ending(tt.end, tt.submission != "", tt.submission)
		tt.change(a)
		if got := a.Reason(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
