package view

import (
	"fmt"
	"strings"
	"testing"

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
	for _, want := range []string{"Attempts: 40 agent failed\n", "… and 35 more", `mleflow logs r1 'step.agent-run.a["4"]'`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
