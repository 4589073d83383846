package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// retry chooses the instances of an address.
func retry(address string) *engine.Retry {
	return &engine.Retry{Choose: func(steps []engine.Past) (again []int, _ diag.List) {
		for i, s := range steps {
			if strings.HasPrefix(s.Name, address) && s.Record != nil {
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
		again := r.apply(context.Background(), src, engine.ApplyOptions{PlanOptions: engine.PlanOptions{Retry: retry("step.dice.x")}})
		next := r.apply(context.Background(), src, engine.ApplyOptions{})
		if again.Outputs[0] == first.Outputs[0] || again.Outputs[0] != next.Outputs[0] || next.Counts[event.Cached] != 3 {
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
	if res.Counts[event.Failed] != 1 || res.Outputs[0].Known {
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

// TestEqualActionsRunOnce: an action runs once in a run, whichever of its steps is to
// run again, and all readers see the one result that the next run sees.
func TestEqualActionsRunOnce(t *testing.T) {
	const direct = `
step "dice" "a" {
  for_each = toset(["x", "y", "z"])
}
step "mix" "b" {
  for_each = toset(["x", "y", "z"])
  text     = "b ${each.key}#${strlen(step.mix.late.value)}"
  inputs   = [step.dice.a[each.key].content]
}
step "mix" "late" { text = "late" }
step "dice" "other" {}
output "b" { value = [values(step.mix.b)[*].value, step.dice.a["x"].value, step.dice.other.value] }
`
	// The dice can be decided only after a step has run, which gives what it gave before.
	deferred := strings.NewReplacer(`toset(["x", "y", "z"])
}`, `toset(["x", "y", "z"])
  from     = step.mix.late.content
}`, `"other" {}`, `"other" { from = step.mix.late.content }`, `"late" }`, `"late#${var.n}" }`).Replace(direct) + `
variable "n" {
  type    = number
  default = 0
}
`
	again := strings.ReplaceAll(deferred, "default = 0", "default = 1")
	for name, c := range map[string]struct {
		first, then string
		options     engine.PlanOptions
		throws      int
	}{
		"force a block":              {direct, direct, engine.PlanOptions{Force: addressOf(t, "step.dice.a")}, 1},
		"force the first":            {direct, direct, engine.PlanOptions{Force: addressOf(t, `step.dice.a["x"]`)}, 1},
		"force the last":             {direct, direct, engine.PlanOptions{Force: addressOf(t, `step.dice.a["z"]`)}, 1},
		"force another block":        {direct, direct, engine.PlanOptions{Force: addressOf(t, "step.dice.other")}, 1},
		"retry one":                  {direct, direct, engine.PlanOptions{Retry: retry(`step.dice.a["y"]`)}, 1},
		"retry another block":        {direct, direct, engine.PlanOptions{Retry: retry("step.dice.other")}, 1},
		"force a deferred block":     {deferred, again, engine.PlanOptions{Force: addressOf(t, "step.dice.a")}, 1},
		"retry a deferred block":     {deferred, again, engine.PlanOptions{Retry: retry("step.dice.a")}, 1},
		"force everything":           {direct, direct, engine.PlanOptions{Force: slices.Concat(addressOf(t, "step.dice.a"), addressOf(t, "step.mix.b"), addressOf(t, "step.dice.other"))}, 1},
		"nothing":                    {direct, again, engine.PlanOptions{}, 1},
		"nothing, with equal inputs": {deferred, again, engine.PlanOptions{}, 0},
	} {
		r, d := newRig(t), &dice{}
		r.more = []step.Kind{d.kind()}
		r.apply(context.Background(), c.first, engine.ApplyOptions{})
		before := d.thrown
		res := r.apply(context.Background(), c.then, engine.ApplyOptions{PlanOptions: c.options})
		next := r.apply(context.Background(), c.then, engine.ApplyOptions{})
		if before != 1 || d.thrown != before+c.throws || res.Status != event.Ran {
			t.Errorf("%s: thrown %d times, then %d more, want %d: %v", name, before, d.thrown-before, c.throws, res.Status)
		}
		if next.Counts[event.Ran] != 0 || next.Outputs[0] != res.Outputs[0] {
			t.Errorf("%s: the next run has %+v and %v, this one %v", name, next.Counts, next.Outputs, res.Outputs)
		}
	}
}
