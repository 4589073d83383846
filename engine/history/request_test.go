package history

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// TestUnmet asks something of a run that then dies at each point of the answer, and lists
// what the next run has to do.
func TestUnmet(t *testing.T) {
	const address = "step.agent-run.a"
	answered := func(r step.Request, refused string) event.Event {
		return event.Steered{At: event.Now(), Request: r, Refused: refused}
	}
	ended := func(status event.Status, err string) event.Event {
		return event.StepFinished{At: event.Now(), Address: address, Status: status, Error: err}
	}
	retried := event.StepRetry{At: event.Now(), Address: address}
	for _, c := range []struct {
		name     string
		act      step.Act
		by       string
		then     func(r step.Request) []event.Event
		unmet    bool
		hasBegun bool
		earlier  bool
	}{
		{"not answered", step.Stop, "", func(step.Request) []event.Event { return nil }, true, false, false},
		{"answered in a run before", step.Stop, "", func(step.Request) []event.Event { return nil }, true, true, true},
		{"refused", step.Stop, "", func(r step.Request) []event.Event { return []event.Event{answered(r, "no")} }, false, false, false},
		{"answered", step.Stop, "", func(r step.Request) []event.Event { return []event.Event{answered(r, "")} }, true, true, false},
		{"done", step.Stop, "", func(r step.Request) []event.Event { return []event.Event{answered(r, ""), ended(event.Ran, "")} }, false, false, false},
		{"interrupted", step.Stop, "", func(r step.Request) []event.Event { return []event.Event{answered(r, ""), ended(event.Cancelled, "")} }, true, true, false},
		{"cancelled by hand", step.Cancel, "", func(r step.Request) []event.Event {
			return []event.Event{answered(r, ""), ended(event.Cancelled, "cancelled by hand")}
		}, false, false, false},
		{"requeue answered", step.Requeue, "", func(r step.Request) []event.Event { return []event.Event{answered(r, "")} }, true, true, false},
		{"put back", step.Requeue, "", func(r step.Request) []event.Event { return []event.Event{answered(r, ""), retried} }, false, false, false},
		{"put back in a drained run", step.Requeue, "", func(r step.Request) []event.Event {
			return []event.Event{answered(r, ""), ended(event.Cancelled, "put back into the queue")}
		}, false, false, false},
		{"more time, and put back in a drained run", step.Extend, "", func(r step.Request) []event.Event {
			return []event.Event{answered(r, ""), ended(event.Cancelled, "put back into the queue")}
		}, true, true, false},
		{"of a stall, not answered", step.Requeue, step.OnStall, func(step.Request) []event.Event { return nil }, false, false, false},
		{"of a stall, answered", step.Requeue, step.OnStall, func(r step.Request) []event.Event { return []event.Event{answered(r, "")} }, true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := New(t.TempDir())
			run := begin(t, l, Opening{})
			r := step.Request{Act: c.act, Address: address, Author: "me@here"}
			if c.by != "" {
				r.Author = c.by
			}
			r.Begun = c.earlier
			r, err := ask(run.dir, r)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range c.then(r) {
				run.Emit(e)
			}
			if err := run.Close(); err != nil {
				t.Fatal(err)
			}
			past, err := l.Open(run.ID())
			if err != nil {
				t.Fatal(err)
			}
			list, err := past.Unmet()
			if err != nil || (len(list) == 1) != c.unmet || c.unmet && list[0].Begun != c.hasBegun {
				t.Errorf("%v: unmet %+v", err, list)
			}
		})
	}
}

// TestActs lists what was done in a run and, for attempts, before it.
func TestActs(t *testing.T) {
	l := New(t.TempDir())
	run := begin(t, l, Opening{})
	did := func(id string, act step.Act, address, from, refused string) {
		run.Emit(event.Steered{At: event.Now(), Request: step.Request{ID: id, Act: act, Address: address}, From: from, Refused: refused})
	}
	did("1", step.Drain, "", "older", "")
	did("2", step.Requeue, "a", "older", "")
	did("3", step.Extend, "b", "older", "")
	did("4", step.SetGPUs, "", "", "")
	did("5", step.Extend, "a", "", "")
	did("5", step.Extend, "a", "", "") // again at the next try
	did("6", step.Stop, "a", "", "it has ended")
	did("7", step.Cancel, "b", "", "")
	did("8", step.Requeue, "b", "", "")
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	past, err := l.Open(run.ID())
	if err != nil {
		t.Fatal(err)
	}
	list, err := past.Acts()
	var got []string
	for _, s := range list {
		from := s.From
		if from == run.ID() {
			from = "here"
		}
		got = append(got, s.Request.ID+" "+from)
	}
	if err != nil || strings.Join(got, ", ") != "2 older, 4 here, 5 here, 8 here" {
		t.Errorf("%v: %q", err, got)
	}
}
