package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

// when checks the condition of an instance:
//
//	step "aggregate" "best" {
//	  when = step.grade.score.score > 0.9
//	}
//
// What an untrusted kind cannot have, its condition cannot read: whether it runs would
// say it. For the same reason all outputs of a step are private if its condition reads
// something private.
func (x *expansion) when(inst *Instance, ctx func() *hcl.EvalContext) diag.List {
	expr := inst.Step.When
	e := argEval{ev: x.evaluator, inst: inst, shared: x.shared, ctx: ctx, marks: map[any]struct{}{}}
	var marks cty.ValueMarks
	e.diags = x.pipeline.budget.Do(expr.Range(), func() hcl.Diagnostics { marks = bounded.Reads(expr, ctx()); return nil })
	e.consume(reading{"when", expr, marks})
	inst.Private, inst.Text = inst.Private || e.private != "", inst.Text || e.private != ""
	inst.decides, inst.steered = dependsOn(e.origins), marks
	inst.Deps = distinct(slices.Concat(inst.decides, inst.Deps))
	if !e.diags.HasErrors() {
		_, _, e.diags = x.condition(inst, ctx())
	}
	return e.diags
}

// condition evaluates the condition of an instance. known is false while it depends on the
// result of a step.
func (ev *evaluator) condition(inst *Instance, ctx *hcl.EvalContext) (holds, known bool, diags diag.List) {
	expr := inst.Step.When
	v, diags := ev.evaluate(expr, ctx)
	if diags.HasErrors() {
		return false, false, diags
	}
	v, marks := v.Unmark()
	wrong := func(format string, args ...any) (bool, bool, diag.List) {
		return false, false, append(diags, diag.Error(expr.Range(), "Invalid condition", "when of %s %s", inst.Addr, fmt.Sprintf(format, args...)))
	}
	out, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil && concealed(marks):
		return wrong("must be true or false.")
	case err != nil:
		return wrong("must be true or false, not %s.", v.Type().FriendlyName())
	case !out.IsKnown():
		return false, false, diags
	case out.IsNull():
		return wrong("is null. Say what null means, as in coalesce(VALUE, false).")
	}
	return out.True(), true, diags
}

// steer notes whether an instance may be skipped because of a condition, its own or that
// of one whose outputs it consumes, and the marks of what decides it.
func (x *expansion) steer(inst *Instance) {
	inst.maySkip = inst.Step.When != nil
	for _, d := range inst.consumes {
		if of := x.graph.Instances[d]; of.maySkip {
			inst.maySkip = true
			inst.steered = union(inst.steered, of.steered)
		}
	}
	inst.Dynamic = inst.Dynamic || inst.maySkip
}

func union(a, b cty.ValueMarks) cty.ValueMarks {
	if len(b) == 0 {
		return a
	}
	all := maps.Clone(b)
	maps.Copy(all, a)
	return all
}

// maySkip reports whether instances of the block may be skipped.
func (b *block) maySkip() bool {
	return slices.ContainsFunc(b.instances, func(inst *Instance) bool { return inst.maySkip })
}

// steered are the marks of the map of a block: which instances are in it says what their
// conditions read.
func (b *block) steered() (marks cty.ValueMarks) {
	for _, inst := range b.instances {
		if inst.maySkip {
			marks = union(marks, inst.steered)
		}
	}
	return marks
}

// Skip decides whether instance i is skipped, and returns the reason, or "" if it is not or
// nobody knows yet: its condition does not hold, or all instances of a block that it
// consumes are skipped. Its block is then without it. done says that all is known that
// decides it.
func (g *Graph) Skip(i int, done bool) (why string, diags diag.List) {
	inst := g.Instances[i]
	if !inst.maySkip {
		return "", nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if why = g.consumesSkipped(inst); why == "" && inst.Step.When != nil {
		g.Pipeline.budget.Reset()
		g.eval.refresh()
		holds, known, wrong := g.eval.condition(inst, inst.context(g.eval.scope([]hcl.Expression{inst.Step.When})))
		switch diags = wrong; {
		case diags.HasErrors():
			return "", diags
		case !known && done:
			return "", append(diags, diag.Error(inst.Step.When.Range(), "Invalid condition", "when of %s is not known, although all that it reads has run.", inst.Addr))
		case known && !holds:
			why = fmt.Sprintf("when is false (%s)", position(inst.Step.When.Range()))
		}
	}
	if k := &g.eval.known[i]; k.skipped != (why != "") {
		k.skipped, k.conditions, g.eval.stale[inst.Step.Addr.String()] = why != "", nil, true
	}
	return why, diags
}

// consumesSkipped names a step all of whose instances that an instance reads are skipped.
func (g *Graph) consumesSkipped(inst *Instance) string {
	all := map[*Step]bool{}
	reads := slices.Concat(inst.consumes, inst.decides)
	for _, d := range reads {
		of := g.Instances[d].Step
		rest, seen := all[of]
		all[of] = g.eval.known[d].skipped && (rest || !seen)
	}
	for _, d := range reads {
		if of := g.Instances[d]; all[of.Step] {
			return fmt.Sprintf("%s is not there, which it reads", of.Addr)
		}
	}
	return ""
}
