package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
)

// retry chooses the steps with an address.
func retry(address string) *engine.Retry {
	return &engine.Retry{Choose: func(steps []engine.Past) (again []int, _ diag.List) {
		for i, s := range steps {
			if s.Name == address && s.Record != nil {
				again = append(again, i)
			}
		}
		return again, nil
	}}
}

// TestRetryReachesReaders: no reader of a retried step believes its old result, however
// it refers to it. The plan that chose what is retried knew the old result.
func TestRetryReachesReaders(t *testing.T) {
	for _, inputs := range []string{
		`[step.dice.x.content]`,
		`[for k, v in { x = step.dice.x } : v.content if strlen(step.mix.pick.value) > 0]`,
	} {
		r := newGamble(t)
		src := `
step "mix" "pick" { text = "pick" }
step "dice" "x" {}
step "mix" "y" {
  text       = "y"
  depends_on = [step.mix.pick]
  inputs     = ` + inputs + `
}
output "y" { value = step.mix.y.value }
`
		first := r.apply(context.Background(), src, engine.ApplyOptions{})
		r.apply(context.Background(), src, engine.ApplyOptions{})
		again, diags := r.engine().Apply(context.Background(), r.program(src), engine.ApplyOptions{PlanOptions: engine.PlanOptions{Retry: retry("step.dice.x")}})
		if diags.HasErrors() {
			continue // refused, so nothing was believed
		}
		next := r.apply(context.Background(), src, engine.ApplyOptions{})
		if again.Outputs[0] == first.Outputs[0] || again.Outputs[0] != next.Outputs[0] || next.Counts.Cached != 3 {
			t.Errorf("inputs = %s: y is %v, after --retry %v, and then %v with %+v", inputs, first.Outputs, again.Outputs, next.Outputs, next.Counts)
		}
	}
}

// TestRetryForgets: the old result of a step that fails when it is retried is not that of
// the run.
func TestRetryForgets(t *testing.T) {
	r := newRig(t)
	r.apply(context.Background(), diamond, engine.ApplyOptions{})
	r.rec.Fail["step.mix.d"] = errors.New("broken")
	res := r.apply(context.Background(), diamond, engine.ApplyOptions{PlanOptions: engine.PlanOptions{Retry: retry("step.mix.d")}})
	if res.Counts.Failed != 1 || res.Outputs[0].Known {
		t.Errorf("%+v, outputs %+v", res.Counts, res.Outputs)
	}
}

// TestPlanAgain: a plan knows nothing that an earlier plan or apply of the same program
// knew.
func TestPlanAgain(t *testing.T) {
	r := newRig(t)
	p := r.program(diamond)
	if _, diags := r.engine().Apply(context.Background(), p, engine.ApplyOptions{}); diags.HasErrors() {
		t.Fatal(diags)
	}
	r.rec.Fail["step.mix.d"] = errors.New("broken")
	res, diags := r.engine().Apply(context.Background(), p, engine.ApplyOptions{PlanOptions: engine.PlanOptions{Force: addressOf(t, "step.mix.d")}})
	if diags.HasErrors() || res.Outputs[0].Known {
		t.Errorf("%v, outputs %+v", diags, res.Outputs)
	}
}
