package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/plan"
)

// Evaluate is an evaluate block.
//
//	evaluate "agents" {
//	  agents = ["mine", "baseline"]
//	  over   = step.grade.score
//	  budget = 120
//	}
type Evaluate struct {
	Name  string
	Attrs map[string]hcl.Expression
	Range hcl.Range
}

// ArgRange returns the range of an argument, or that of the block's header if it
// was not written.
func (e *Evaluate) ArgRange(name string) hcl.Range {
	if expr := e.Attrs[name]; expr != nil {
		return expr.Range()
	}
	return e.Range
}

func (l *loader) evaluate(b *hcl.Block) diag.List {
	diags := checkName("evaluation", b.Labels[0], b.LabelRanges[0])
	content, more := b.Body.Content(schemas[b.Type])
	if diags = append(diags, more...); diags.HasErrors() {
		return diags
	}
	if old := l.p.Evaluate; old != nil {
		return append(diags, diag.Error(b.DefRange, "Second evaluation", "A pipeline has at most one evaluate block, and there is one at %s. Write the other in a pipeline that extends this one's base.", position(old.Range)))
	}
	l.p.Evaluate = &Evaluate{Name: b.Labels[0], Attrs: exprs(content.Attributes), Range: b.DefRange}
	return diags
}

// check checks the references of the block.
func (e *Evaluate) check(p *Pipeline) (diags diag.List) {
	for _, expr := range sortedExprs(e.Attrs) {
		diags = append(diags, p.checkExpr(expr, false)...)
	}
	if _, more := e.over(p); !diags.HasErrors() {
		diags = append(diags, more...)
	}
	return diags
}

// over returns the step block that grades the attempts.
func (e *Evaluate) over(p *Pipeline) (*Step, diag.List) {
	t, bad := hcl.AbsTraversalForExpr(e.Attrs["over"])
	if !bad.HasErrors() && len(t) == 3 && t.RootName() == "step" {
		if s, _ := p.stepOf(t); s != nil && s.ForEach != nil {
			return s, nil
		}
	}
	return nil, diag.List{diag.Error(e.ArgRange("over"), "Invalid over", "over names a step block that has for_each and grades the attempts, without a key or an output, such as step.grade.score.")}
}

// expand evaluates the block.
func (e *Evaluate) expand(g *Graph) (diags diag.List) {
	s, diags := e.over(g.Pipeline)
	if diags.HasErrors() {
		return diags
	}
	v := &plan.Evaluation{Name: e.Name, Over: s.Addr.String(), Decide: "any_medal", Difference: 5, Confidence: 0.95, Decision: "undecided", Low: -100, High: 100}
	for _, arg := range []struct {
		name  string
		want  cty.Type
		value any
		check func() error
	}{
		{"agents", cty.List(cty.String), &v.Agents, func() error {
			if len(v.Agents) != 2 || v.Agents[0] == v.Agents[1] {
				return errors.New("an evaluation compares two different agents: [\"mine\", \"baseline\"]")
			}
			return nil
		}},
		{"decide", cty.String, &v.Decide, func() error { return nil }},
		{"difference", cty.Number, &v.Difference, func() error { return between(v.Difference, 100, "percentage points, such as 5") }},
		{"confidence", cty.Number, &v.Confidence, func() error { return between(v.Confidence, 1, "a probability, such as 0.95") }},
		{"budget", cty.Number, &v.Budget, func() error {
			if v.Budget < 2 {
				return fmt.Errorf("%d attempts are too few: a pair has an attempt of each agent, so the least is 2", v.Budget)
			}
			return nil
		}},
	} {
		expr := e.Attrs[arg.name]
		if expr == nil {
			continue
		}
		val, more := g.eval.evaluate(expr, g.eval.scope([]hcl.Expression{expr}))
		if diags = append(diags, more...); more.HasErrors() {
			continue
		}
		if err := decodeKnown(val, arg.want, arg.value, arg.check); err != nil {
			diags = append(diags, diag.Error(expr.Range(), "Invalid "+arg.name, "%s", diag.Sentence(err.Error())))
		}
	}
	g.Evaluation = v
	return diags
}

func between(v, most float64, what string) error {
	if v > 0 && v < most {
		return nil
	}
	return fmt.Errorf("%v is not between 0 and %v; it is %s", v, most, what)
}

// decodeKnown converts a value that must be known before anything runs, and
// checks the result.
func decodeKnown(v cty.Value, want cty.Type, to any, check func() error) error {
	marks := map[any]struct{}{}
	v, err := convert.Convert(unmark(v, marks), want)
	switch _, secret := marks[sensitive]; {
	case secret || hidden(marks) != "":
		return errors.New("a sensitive or private value would be stored and shown")
	case err != nil || v.IsNull():
		return fmt.Errorf("this must be a %s", want.FriendlyName())
	case !v.IsWhollyKnown():
		return errors.New("this depends on the result of a step, and must be known before anything runs")
	}
	if err := gocty.FromCtyValue(v, to); err != nil {
		return err
	}
	return check()
}

// Hold leaves instances out of the pipeline, and no others: what depends on some
// instances of their block gets the rest. Instances of which all dependencies in
// a block are left out must be left out, too.
func (g *Graph) Hold(list []int) (diags diag.List) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]bool, len(g.Instances))
	for _, i := range list {
		out[i] = true
	}
	for i, inst := range g.Instances {
		if k := &g.eval.known[i]; k.held != out[i] {
			k.held = out[i]
			g.eval.stale[inst.Step.Addr.String()] = true
		}
	}
	g.Pipeline.budget.Reset()
	g.eval.refresh()
	held := func(i int) bool { return out[i] }
	for i, whole := range g.expanded.Instances {
		g.Instances[i] = whole
		if out[i] || !slices.ContainsFunc(whole.Deps, held) {
			continue
		}
		inst := *whole
		inst.Deps = slices.DeleteFunc(slices.Clone(whole.Deps), held)
		inst.consumes = slices.DeleteFunc(slices.Clone(whole.consumes), held)
		scope := g.eval.scope(inst.Step.expressions())
		args, _, more := g.eval.evaluateArgs(&inst, nil, func() *hcl.EvalContext { return inst.context(scope) })
		for _, d := range more {
			d.Detail += " The evaluation left out attempts that its answer did not need: refer to all that ran, as in values(step.grade.score)."
		}
		inst.args, diags = args, append(diags, more...)
		g.Instances[i] = &inst
	}
	return diags
}
