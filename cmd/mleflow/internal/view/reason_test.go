package view

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/event"
)

// A reason that many steps share is told once, whatever tells it first.
func TestReasonsFold(t *testing.T) {
	state := NewState()
	var plain bytes.Buffer
	view := NewPlainOf(NewState(), &plain, Style{}, false)
	emit := func(e event.Event) { state.Apply(e); view.Emit(e) }
	emit(event.RunStarted{Run: "R"})
	for _, refused := range []bool{true, false} {
		for i := range 5 {
			id := fmt.Sprintf("c%d-%t", i, refused)
			address := fmt.Sprintf("step.download.raw[%q]", id)
			err := errors.New("ask about " + id + ": no key, get one at there").Error()
			if refused {
				emit(event.Preflight{Address: address, Subject: id, Verdict: event.PreflightFailed, Error: err})
			}
			if i == 4 && refused {
				emit(event.PreflightFinished{Failed: 5})
			}
		}
	}
	for _, refused := range []bool{true, false} {
		for i := range 5 {
			id := fmt.Sprintf("c%d-%t", i, refused)
			emit(event.StepFinished{Address: fmt.Sprintf("step.download.raw[%q]", id), Status: event.Failed, Error: "ask about " + id + ": no key, get one at there"})
		}
	}
	var summary bytes.Buffer
	Summary(&summary, state, Style{})
	if n := strings.Count(plain.String(), "no key"); n != 1+5 { // the preflight, and each step that was started
		t.Errorf("plain lines say it %d times:\n%s", n, plain.String())
	}
	if n := strings.Count(summary.String(), "no key"); n != 1 {
		t.Errorf("the summary says it %d times:\n%s", n, summary.String())
	}
	for _, want := range []string{"and 3 more: the data cannot be fetched, as the preflight says above; mleflow show R", "and 3 more: ask about …: no key"} {
		if !strings.Contains(summary.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, summary.String())
		}
	}
}
