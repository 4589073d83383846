package view

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
)

// graded is a view's reader of reports: the step's key is "agent/competition/seed".
func graded() *Grades {
	return &Grades{
		Read: func(e event.StepFinished) (grading.Graded, bool) {
			parts := strings.Split(keyOf(e.Address), "/")
			if len(parts) != 3 {
				return grading.Graded{}, false
			}
			score := grading.Number(0.75)
			return grading.Graded{Labels: map[string]string{"agent": parts[0], "seed": parts[2]}, Report: grading.Report{CompetitionID: parts[1], Score: &score, ValidSubmission: true, Medals: grading.Medals{SilverMedal: true}}}, true
		},
		Draw: func(reports []grading.Graded, width int) string {
			return "place  agent" + strings.Repeat("\n1      mine", len(reports))
		},
	}
}

func grade(n int) event.StepFinished {
	return event.StepFinished{At: after(int64(1000 + n)), Address: fmt.Sprintf("step.grade.score[\"mine/leaf/%d\"]", n), Kind: "grade", Status: event.Ran, Outputs: map[string]string{"outcome": `"scored"`, "score": "0.75"}}
}

// A live view has a leaderboard of what is graded so far, on a part of the screen.
func TestLiveLeaderboard(t *testing.T) {
	for _, tt := range []struct {
		height, grades int
		want, not      string
	}{
		{8, 3, "", "Leaderboard"},
		{24, 0, "", "Leaderboard"},
		{24, 1, "Leaderboard, partial: 1 of 200 attempts graded, isolation unknown\nplace  agent\n1      mine\n", "more\n1"},
		{24, 30, "1      mine\n… and 27 more\n", ""},
		{40, 30, "1      mine\n… and 23 more\n", ""},
		{40, 200, "Leaderboard, 200 of 200 attempts graded", "partial"},
	} {
		s := NewState()
		s.Grades = graded()
		for _, e := range liveEvents() {
			s.Apply(e)
		}
		for n := range tt.grades {
			s.Apply(grade(n))
		}
		frame := screen(s, Style{}, 80, tt.height, after(20_000).Time)
		checkFrame(t, frame, 80, tt.height)
		if !strings.Contains(frame, tt.want) || tt.not != "" && strings.Contains(frame, tt.not) {
			t.Errorf("%d lines, %d grades:\n%s", tt.height, tt.grades, frame)
		}
	}
}

// A plain view says the score of a grade on the line of its step.
func TestPlainGrade(t *testing.T) {
	var out strings.Builder
	s := NewState()
	s.Grades = graded()
	other := grade(2)
	other.Address = "step.grade.other"
	emitAll(NewPlainOf(s, &out, Style{}, false), []event.Event{liveEvents()[0], grade(1), other})
	if want := "score[\"mine/leaf/1\"] in 0.00s: mine, leaf, seed 1, 0.75, silver\n"; !strings.Contains(out.String(), want) || !strings.HasSuffix(out.String(), "other in 0.00s\n") {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}

// Without a table, only the reports of steps that ran are read.
func TestGradesOfRan(t *testing.T) {
	g := &Grades{Read: graded().Read}
	e := grade(1)
	e.Status = event.Cached
	if g.add(e); g.gradeText(e) != "" {
		t.Errorf("a cached step: %q", g.gradeText(e))
	}
	if g.add(grade(1)); g.gradeText(grade(1)) == "" {
		t.Error("no score of a step that ran")
	}
}

// Leaderboards of one run close with the same paragraph, which is shown once.
func TestOutputsCloseOnce(t *testing.T) {
	var out strings.Builder
	board := "Board\n\nplace  agent\n1      mine\n\nMean over seeds.\n"
	Outputs(&out, "r1", []event.OutputValue{{Name: "a", Value: board, IsString: true}, {Name: "b", Value: board, IsString: true}}, Style{})
	if got := out.String(); strings.Count(got, "mine") != 2 || strings.Count(got, "Mean over seeds.") != 1 {
		t.Errorf("printed\n%s", got)
	}
}

// Reports that are not here come later, from other goroutines; the line of the step that
// ended has no grade then.
func TestFetchedGrades(t *testing.T) {
	g := graded()
	read := g.Read
	g.Read = func(event.StepFinished) (grading.Graded, bool) { return grading.Graded{}, false }
	var late sync.WaitGroup
	g.Fetch = func(e event.StepFinished, deliver func(grading.Graded)) {
		late.Go(func() {
			if r, ok := read(e); ok {
				deliver(r)
			}
		})
	}
	for n := range 20 {
		e := grade(n)
		e.Status, e.Outputs["report"] = event.Cached, "blob:0"
		if g.add(e); g.gradeText(e) != "" {
			t.Errorf("%s: %q", e.Address, g.gradeText(e))
		}
		g.lines(40, 80, 10, Style{})
	}
	late.Wait()
	if got := strings.Join(g.lines(40, 80, 10, Style{}), "\n"); !strings.Contains(got, "20 of 40 attempts graded") {
		t.Error(got)
	}
}
