package view

import (
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// A publication is told of while it lasts: live at once, in a log once a minute.
func TestPublishing(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int64) event.Event {
		return event.Publishing{At: event.At{Time: began.Add(time.Duration(seconds) * time.Second)}, From: "output.data", To: "\x1b[1mdata",
			Progress: step.Progress{Done: seconds, Total: 200, Unit: "files", Bytes: seconds << 20, TotalBytes: 200 << 20}}
	}
	const line = "Publishing output.data to data: 61 of 200 files, 61.0 MiB of 200.0 MiB (1 files/s, 1.0 MiB/s, 2m19s left)"
	var log strings.Builder
	plain, state := NewPlainOf(NewState(), &log, Style{}, false), NewState()
	for _, e := range []event.Event{event.RunStarted{At: event.At{Time: began}}, at(1), at(2), at(61), at(62)} {
		plain.Emit(e)
		if state.Apply(e); e == at(61) {
			if got := screen(state, Style{}, 200, 10, began); !strings.Contains(got, line+"\n") {
				t.Errorf("live:\n%s", got)
			}
		}
	}
	if strings.Count(log.String(), "ublishing") != 1 || !strings.Contains(log.String(), line) {
		t.Errorf("log:\n%s", log.String())
	}
	state.Apply(event.Published{From: "output.data", To: "data"})
	if got := screen(state, Style{}, 200, 10, began); strings.Contains(got, "Publishing") {
		t.Errorf("after the end:\n%s", got)
	}
}
