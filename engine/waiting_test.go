package engine_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// TestSaysWhomItWaitsFor: a step whose action another process runs says so, with the run.
func TestSaysWhomItWaitsFor(t *testing.T) {
	r := newRig(t)
	src := `step "call" "a" { text = "a" }`
	id, err := digest.ParseActionID(r.plan(src, engine.PlanOptions{}).Steps[0].ActionID)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := r.cache.LockAction(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.history.Begin(history.Opening{Info: history.Info{Pipeline: "/other.hcl", Name: "other.hcl"}, Plan: &plan.Plan{}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	said := ""
	res, diags := r.engine().Apply(context.Background(), r.program(src), engine.ApplyOptions{Sink: event.SinkFunc(func(e event.Event) {
		if w, ok := e.(event.StepWaiting); ok && said == "" {
			said = w.Address + " " + w.Message
			unlock()
		}
	})})
	host, _ := os.Hostname()
	if diags.HasErrors() || res.Counts[event.Ran] != 1 {
		t.Errorf("%v %+v", diags, res)
	}
	if !strings.HasPrefix(said, "step.call.a another process, which runs the same action: run "+other.ID()+", process ") || !strings.Contains(said, " on "+host+" since ") {
		t.Errorf("said %q", said)
	}
}

// TestAsksWhoWaits: an attempt that another process runs answers at once. A person can cancel
// the wait.
func TestAsksWhoWaits(t *testing.T) {
	r := newRig(t)
	r.more = []step.Kind{steered(nil)}
	src := `step "steered" "a" { text = "a" }`
	id, err := digest.ParseActionID(r.plan(src, engine.PlanOptions{}).Steps[0].ActionID)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := r.cache.LockAction(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	const a = "step.steered.a"
	// The first is asked before it is known that the attempt waits.
	sink := event.Multi(r.asks(t, a, step.Request{Act: step.Stop, Address: a}), event.SinkFunc(func(e event.Event) {
		if _, ok := e.(event.StepWaiting); ok {
			r.askLater(t, step.Request{Act: step.Extend, Address: a, ByMillis: 60_000})
			r.askLater(t, step.Request{Act: step.Cancel, Address: a})
		}
	}))
	res, diags := r.engine().Apply(t.Context(), r.program(src), engine.ApplyOptions{Sink: sink})
	if diags.HasErrors() || res.Status != event.Cancelled || res.Counts[event.Cancelled] != 1 {
		t.Errorf("%v %+v", diags, res)
	}
	const refused = "another run runs it, and this one waits for its result: ask that run, with --run"
	want := []string{"stop " + a + ": " + refused, "extend " + a + ": " + refused, "cancel " + a + ": it waits no longer for the process that runs it"}
	if got := r.answers(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
