package engine_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
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
