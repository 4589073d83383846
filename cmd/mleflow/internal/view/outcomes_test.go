package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mleflow/mleflow/engine/event"
)

// TestManyFailuresFold proves that a live view names the first attempts that
// fail, says once that there are more, and that the summary counts them all.
func TestManyFailuresFold(t *testing.T) {
	live := &Live{state: NewState()}
	live.Emit(event.RunStarted{At: after(0), Run: "r1", Steps: 40})
	var shown []string
	for i := range 40 {
		live.Emit(event.StepFinished{At: after(int64(i)), Address: fmt.Sprintf(`step.agent-run.a["%d"]`, i), Kind: "agent-run", Status: event.Ran,
			Outputs: map[string]string{"outcome": `"agent_failed"`, "stats": `{"exit_code": 7}`}})
		shown = append(shown, live.notices()...)
	}
	if len(shown) != problemsShown+1 || !strings.Contains(shown[0], `Agent failed: step.agent-run.a["0"]: exit status 7`) || !strings.HasPrefix(shown[problemsShown], "… more") {
		t.Errorf("%d lines: %q", len(shown), shown)
	}
	var out strings.Builder
	Summary(&out, live.state, Style{})
	for _, want := range []string{"Attempts: 40 agent failed\n", `Agent failed: 40 × exit status 7, first in step.agent-run.a["0"]`, `mleflow logs r1 'step.agent-run.a["0"]'`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// TestCauses groups attempts by what they printed last: numbers and folders in a
// message make no difference, another exit status does.
func TestCauses(t *testing.T) {
	var o Outcomes
	for i, last := range []string{"ValueError: bad row 7 in /a/b/train.csv", "ValueError: bad row 12 in /c/train.csv", "KeyError: 'x'", "", "", ""} {
		o.Add(event.StepFinished{Address: fmt.Sprint("step.agent-run.a.", i), Kind: "agent-run", Status: event.Ran,
			Outputs: map[string]string{"outcome": `"agent_failed"`, "stats": fmt.Sprintf(`{"exit_code": %d}`, 1+i/5)}}, "r1", []string{"starting", last})
	}
	var got []string
	for _, p := range o.Causes() {
		got = append(got, p.line(Style{}))
	}
	want := []string{
		"Agent failed: 2 × such as exit status 1: ValueError: bad row 7 in /a/b/train.csv, first in step.agent-run.a.0",
		"Agent failed: step.agent-run.a.2: exit status 1: KeyError: 'x'",
		"Agent failed: 2 × exit status 1, first in step.agent-run.a.3",
		"Agent failed: step.agent-run.a.5: exit status 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
