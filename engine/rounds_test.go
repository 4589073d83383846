package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/enginetest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

const tried = `
step "attempt" "solve" {
  for_each = toset(["a/0", "a/1", "b/0", "b/1", "c/0"])
  text     = each.key
}
step "mix" "score" {
  for_each = step.attempt.solve
  text     = each.key
  inputs   = [each.value.content]
}
step "mix" "board" {
  text   = "board"
  inputs = values(step.mix.score)[*].content
}
`

// counting is a rig with a counted kind.
func counting(t *testing.T) *rig {
	r := newRig(t)
	k := enginetest.Mix("attempt", "1", r.rec)
	k.Varies = true
	k.Counted = func(fields []digest.Field) []string {
		text := (&cache.Record{Fields: fields}).Field("text")
		return []string{"here", "agent " + text[:1], text[:1]}
	}
	r.more = append(r.more, k)
	return r
}

// first is an evaluation of a and b that ends after some rounds of an attempt each.
type first struct {
	p      *engine.Program
	rule   string
	rounds int
	done   int
}

func (f *first) at(keys ...string) (list []int) {
	for _, key := range keys {
		if i, found := f.p.Find(addr.Keyed(addr.Step{Kind: "mix", Name: "score"}, key)); found {
			list = append(list, i)
		}
	}
	return list
}

func (f *first) Candidates() []int { return f.at("a/0", "a/1", "b/0", "b/1") }

func (f *first) Next(context.Context, func(int) cache.Outputs) ([]int, plan.Evaluation, error) {
	rounds := [][]int{f.at("a/0", "b/0"), f.at("a/1", "b/1")}[:f.rounds]
	state := plan.Evaluation{Name: "first", Agents: []string{"a", "b"}, Rule: f.rule, Budget: 2 * f.rounds, Round: f.done, Attempts: 2 * f.done}
	if f.done == len(rounds) {
		return nil, state, nil
	}
	f.done++
	state.Next = 2
	return rounds[f.done-1], state, nil
}

// evaluate applies an evaluation and returns its answer.
func (r *rig) evaluate(rule string, rounds int, force ...addr.Instance) plan.Evaluation {
	r.t.Helper()
	p := r.program(tried)
	res := r.applied(context.Background(), p, engine.ApplyOptions{PlanOptions: engine.PlanOptions{Force: force, Rounds: func() engine.Rounds { return &first{p: p, rule: rule, rounds: rounds} }}})
	if res.Status != event.Ran {
		r.t.Fatalf("%+v", res.Failures)
	}
	last := plan.Evaluation{}
	for _, e := range r.events {
		if state, ok := e.(event.Evaluated); ok {
			last = state.Evaluation
		}
	}
	return last
}

// TestEvaluationIsDeclared finds evaluations that did not choose their attempts.
func TestEvaluationIsDeclared(t *testing.T) {
	r := counting(t)
	for _, c := range []struct {
		name   string
		rule   string
		rounds int
		force  []addr.Instance
		want   plan.Declared
	}{
		{"before its attempts", "rule", 1, nil, plan.Declared{FirstBudget: 2}},
		{"with a larger budget", "rule", 2, nil, plan.Declared{FirstBudget: 2}},
		{"from the cache", "rule", 2, nil, plan.Declared{FirstBudget: 2}},
		{"with a smaller budget", "rule", 1, nil, plan.Declared{Unused: 2, FirstBudget: 2}},
		{"after its attempts", "other", 2, nil, plan.Declared{Outside: 4, FirstBudget: 4}},
		{"with a repeated attempt", "rule", 2, []addr.Instance{addr.Keyed(addr.Step{Kind: "attempt", Name: "solve"}, "a/0")}, plan.Declared{Repeated: 1, FirstBudget: 2}},
		{"after repeated attempts", "third", 1, []addr.Instance{addr.Single(addr.Step{Kind: "attempt", Name: "solve"})}, plan.Declared{Outside: 2, FirstBudget: 2}},
	} {
		if got := r.evaluate(c.rule, c.rounds, c.force...).Declared; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestCheckRounds refuses runs that left out more or less than their evaluation.
func TestCheckRounds(t *testing.T) {
	for _, c := range []struct {
		name  string
		ran   string
		left  string
		wrong string
	}{
		{"one round", "a/0 b/0 c/0", "a/1 b/1", ""},
		{"an attempt that is asked for", "a/0 c/0", "a/1 b/0 b/1", `the evaluation asks for step.mix.score["b/0"], which the run left out`},
		{"one more", "a/0 a/1 b/0 c/0", "b/1", `step.mix.score["a/1"] ran, and the evaluation ends without it`},
		{"one of another agent", "a/0 b/0", "a/1 b/1 c/0", `the run left out step.mix.score["c/0"], and the evaluation is not about it`},
		{"stopped in a round", "a/0", "", ""},
	} {
		r := counting(t)
		p := r.program(tried)
		f := &first{p: p, rounds: 1}
		for _, i := range f.at(strings.Fields(c.ran)...) {
			p.SetOutputs(i, cache.Outputs{"content": {Ref: cache.Ref{Kind: cache.Blob, ID: digest.Of([]byte("x"))}}})
		}
		_, asked, err := p.CheckRounds(context.Background(), f, f.at(strings.Fields(c.left)...))
		if got := errorText(err); got != c.wrong {
			t.Errorf("%s: %q, want %q", c.name, got, c.wrong)
		}
		if c.wrong == "" && c.left != "" && !slices.Equal(asked, f.at("a/0", "b/0")) {
			t.Errorf("%s: asked for %v", c.name, asked)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
