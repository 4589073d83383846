package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/plan"
)

func (l *loader) evaluate(b *hcl.Block) {
	before := len(l.diags)
	name := l.name("evaluation", b)
	content, _ := l.content(b, schemas[b.Type])
	switch old := l.p.Evaluate; {
	case l.diags[before:].HasErrors():
	case old != nil:
		l.fail(b.DefRange, "Second evaluation", "A pipeline has at most one evaluate block, and there is one at %s. Write the other in a pipeline that extends this one's base.", position(old.Range))
	default:
		e := newBlock(name, b.DefRange, content.Attributes)
		l.p.Evaluate = &e
	}
}

// over returns the step block that grades the attempts of an evaluate block.
func over(e *Block, p *Pipeline) (*Step, diag.List) {
	t, bad := hcl.AbsTraversalForExpr(e.Args["over"])
	if !bad.HasErrors() && len(t) == 3 && t.RootName() == "step" {
		if s, _ := p.stepOf(t); s != nil && s.ForEach != nil {
			return s, nil
		}
	}
	return nil, diag.List{diag.Error(e.ArgRange("over"), "Invalid over", "over names a step block that has for_each and grades the attempts, without a key or an output, such as step.grade.score.")}
}

// evaluation evaluates the evaluate block:
//
//	evaluate "agents" {
//	  agents = ["mine", "baseline"]
//	  over   = step.grade.score
//	  budget = 120
//	}
func evaluation(g *Graph) (diags diag.List) {
	e := g.Pipeline.Evaluate
	if e == nil {
		return nil
	}
	s, diags := over(e, g.Pipeline)
	if diags.HasErrors() {
		return diags
	}
	v := &plan.Evaluation{Name: e.Name, Over: s.Addr.String(), Decide: "any_medal", Difference: 5, Confidence: 0.95, Decision: "undecided", Low: -100, High: 100}
	for _, arg := range []struct {
		name  string
		value any
		check func() error
	}{
		{"agents", &v.Agents, func() error {
			if len(v.Agents) != 2 || v.Agents[0] == v.Agents[1] {
				return errors.New("an evaluation compares two different agents: [\"mine\", \"baseline\"]")
			}
			return nil
		}},
		{"decide", &v.Decide, func() error { return nil }},
		{"difference", &v.Difference, func() error { return between(v.Difference, 100, "percentage points, such as 5") }},
		{"confidence", &v.Confidence, func() error { return between(v.Confidence, 1, "a probability, such as 0.95") }},
		{"budget", &v.Budget, func() error {
			if v.Budget < 2 {
				return fmt.Errorf("%d attempts are too few: a pair has an attempt of each agent, so the least is 2", v.Budget)
			}
			return nil
		}},
	} {
		expr := e.Args[arg.name]
		if expr == nil {
			continue
		}
		more := g.eval.decode("evaluate", arg.name, expr, g.eval.scope([]hcl.Expression{expr}), arg.value)
		if diags = append(diags, more...); more.HasErrors() {
			continue
		}
		if err := arg.check(); err != nil {
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
