package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// shaky is a kind whose instances depend on a service that may be down.
func shaky(s *service) step.Kind {
	return step.Kind{
		Name: "shaky", Version: "1", Varies: true,
		Args:    []step.Attr{{Name: "text", Type: cty.String, Required: true}},
		Outputs: []step.Output{{Name: "content", Type: step.ArtifactType}},
		New: func(args step.Args) (step.Step, error) {
			return &guest{s: s, text: args.Get("text").AsString()}, nil
		},
	}
}

type service struct {
	down map[string]bool
	mu   sync.Mutex // guests run at the same time
	ran  []string
}

type guest struct {
	s    *service
	text string
}

// Conditions implements step.Conditioned.
func (g *guest) Conditions() []string { return []string{"weather=sun"} }

// Run implements step.Step.
func (g *guest) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	g.s.mu.Lock()
	g.s.ran = append(g.s.ran, env.Address)
	g.s.mu.Unlock()
	text := "done"
	if g.s.down[g.text] {
		env.Provisional("service_failed", "the service is down")
		text = "half"
	}
	ref, err := cache.PutBytes(ctx, env.Store, []byte(g.text+text))
	return cache.Outputs{"content": {Ref: ref}}, err
}

const guests = `
step "shaky" "a" { text = "a" }
step "shaky" "b" { text = "b" }
step "mix" "grade" {
  text   = "grade"
  inputs = [step.shaky.a.content]
}
step "mix" "board" {
  text   = "board"
  inputs = [step.mix.grade.content, step.shaky.b.content]
}
`

// visit applies the guests and returns what ran, and the conditions of the board.
func (r *rig) visit(s *service, o engine.ApplyOptions) (ran string, board []string) {
	r.t.Helper()
	s.ran = nil
	if res := r.apply(context.Background(), guests, o); res.Status != event.Ran {
		r.t.Fatalf("%+v", res)
	}
	for _, e := range r.events {
		if f, ok := e.(event.StepFinished); ok && f.Address == "step.mix.board" {
			board = f.Conditions
		}
	}
	slices.Sort(s.ran)
	return strings.Join(append(s.ran, r.rec.Ran()...), " "), board
}

// TestProvisional: a result that is not final is used in its run and runs again in the
// next; what does not depend on it is left alone.
func TestProvisional(t *testing.T) {
	r, s := newRig(t), &service{down: map[string]bool{"a": true}}
	r.more = []step.Kind{shaky(s)}
	expect := func(what, want, conditions string) {
		t.Helper()
		if ran, board := r.visit(s, engine.ApplyOptions{}); ran != want || strings.Join(board, " ") != conditions {
			t.Errorf("%s: ran %q, want %q; the board has %q, want %q", what, ran, want, board, conditions)
		}
	}
	expect("down", "step.shaky.a step.shaky.b step.mix.grade step.mix.board", "provisional=service_failed weather=sun")
	expect("still down", "step.shaky.a step.mix.grade step.mix.board", "provisional=service_failed tries=2 weather=sun")
	pl := r.plan(guests, engine.PlanOptions{})
	for _, st := range pl.Steps {
		if st.Name == "step.shaky.a" && (st.Action != plan.Run || len(st.Reasons) != 1 || st.Reasons[0].Text != "runs again: service_failed: the service is down") {
			t.Errorf("plan: %+v", st)
		}
		if st.Name == "step.shaky.b" && st.Action != plan.Cached {
			t.Errorf("plan: %+v", st)
		}
	}
	if _, diags := r.engine().Apply(context.Background(), r.program(guests), engine.ApplyOptions{RequireCached: true}); !diags.HasErrors() {
		t.Error("a provisional result is taken for cached")
	}
	if _, diags := r.engine().Lock(context.Background(), r.program(guests), engine.LockOptions{}); !diags.HasErrors() {
		t.Error("a provisional result is locked")
	}
	s.down = nil
	expect("up", "step.shaky.a step.mix.grade step.mix.board", "tries=3 weather=sun")
	expect("done", "", "tries=3 weather=sun")
	id := digest.ActionID{}
	for _, st := range r.plan(guests, engine.PlanOptions{}).Steps {
		if st.Name == "step.shaky.a" {
			id, _ = digest.ParseActionID(st.ActionID)
		}
	}
	if rec, err := r.cache.Lookup(context.Background(), id); err != nil || rec.Tries != (cache.Tries{Spoilt: 2}) {
		t.Errorf("the record has %+v, %v", rec, err)
	}
}

// TestRetryCounts: what runs again although its result is final is counted, by Retry and
// by Force, also over a provisional result; the count is a condition of what is made
// of it.
func TestRetryCounts(t *testing.T) {
	r, s := newRig(t), &service{down: map[string]bool{}}
	r.more = []step.Kind{shaky(s)}
	r.visit(s, engine.ApplyOptions{})
	lock, diags := r.engine().Lock(context.Background(), r.program(guests), engine.LockOptions{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	retry := engine.PlanOptions{Retry: &engine.Retry{Choose: func(steps []engine.Past) (again []int, _ diag.List) {
		for i, st := range steps {
			if st.Name == "step.shaky.b" && st.Record != nil {
				again = append(again, i)
			}
		}
		return again, nil
	}}}
	if pl := r.plan(guests, retry); pl.Counts() != (plan.Counts{Run: 1, Cached: 2, Deferred: 1}) {
		t.Errorf("plan: %+v", pl.Counts())
	}
	for _, c := range []struct {
		what    string
		options engine.PlanOptions
		down    bool
		want    string
	}{
		{"retry", retry, false, "tries=2 weather=sun"},
		{"nothing", engine.PlanOptions{}, false, "tries=2 weather=sun"},
		{"force", engine.PlanOptions{Force: addressOf(t, "step.shaky.b")}, false, "tries=3 weather=sun"},
		{"down", retry, true, "provisional=service_failed tries=4 weather=sun"},
		{"still down", engine.PlanOptions{}, true, "provisional=service_failed tries=5 weather=sun"},
		{"and now it counts", engine.PlanOptions{}, true, "tries=6 weather=sun"},
		{"so it stays", engine.PlanOptions{}, false, "tries=6 weather=sun"},
		{"until it is asked for", retry, false, "tries=7 weather=sun"},
	} {
		s.down["b"] = c.down
		if _, board := r.visit(s, engine.ApplyOptions{PlanOptions: c.options, Lock: lock}); strings.Join(board, " ") != c.want {
			t.Errorf("%s: the board has %q, want %q", c.what, board, c.want)
		}
	}
	if _, diags := r.engine().Plan(context.Background(), r.program(guests), engine.PlanOptions{Retry: &engine.Retry{Named: addressOf(t, "step.shaky.c")}}); !diags.HasErrors() {
		t.Error("an unknown address is taken")
	}
}

// TestRetryDeferred: Retry looks at a step whose result is found only when what it
// depends on has run, by this result and by one that was made of it.
func TestRetryDeferred(t *testing.T) {
	for _, judged := range []string{"step.shaky.a", "step.mix.grade"} {
		r, s := newRig(t), &service{}
		r.more = []step.Kind{shaky(s)}
		retry := &engine.Retry{Choose: func(steps []engine.Past) (again []int, _ diag.List) {
			for i, st := range steps {
				if st.Name != judged || st.Record == nil {
					continue
				}
				if again = []int{i}; judged == "step.mix.grade" {
					again = st.After
				}
			}
			return again, nil
		}}
		const all = "step.shaky.a step.mix.env step.mix.grade"
		for i, c := range []struct {
			retry *engine.Retry
			want  string
		}{{nil, all}, {nil, "step.mix.env"}, {retry, all}, {retry, all}, {nil, "step.mix.env"}} {
			s.ran = nil
			src := fmt.Sprintf(`
step "mix" "env" { text = "python#%d" }
step "shaky" "a" { text = step.mix.env.value }
step "mix" "grade" {
  text   = "grade"
  inputs = [step.shaky.a.content]
}
`, i)
			r.apply(context.Background(), src, engine.ApplyOptions{PlanOptions: engine.PlanOptions{Retry: c.retry}})
			if ran := strings.Join(append(s.ran, r.rec.Ran()...), " "); ran != c.want {
				t.Errorf("%s, apply %d: ran %q, want %q", judged, i, ran, c.want)
			}
		}
	}
}

// TestProvisionalTwice: a step with the same action as one whose result is not final uses
// it in the same run.
func TestProvisionalTwice(t *testing.T) {
	r, s := newRig(t), &service{down: map[string]bool{"a": true}}
	r.more = []step.Kind{shaky(s)}
	src := `
step "shaky" "a" { text = "a" }
step "shaky" "b" { text = "a" }
`
	for range 2 {
		s.ran = nil
		if res := r.apply(context.Background(), src, engine.ApplyOptions{}); len(s.ran) != 1 || res.Counts[event.Ran] != 1 || res.Counts[event.Cached] != 1 {
			t.Errorf("ran %v, %+v", s.ran, res.Counts)
		}
	}
}

func addressOf(t *testing.T, text string) []addr.Instance {
	t.Helper()
	a, err := addr.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return []addr.Instance{a}
}

// TestEvictedCounts: a result that was evicted was a try.
func TestEvictedCounts(t *testing.T) {
	r, s := newRig(t), &service{}
	r.more = []step.Kind{shaky(s)}
	r.visit(s, engine.ApplyOptions{})
	for _, st := range r.plan(guests, engine.PlanOptions{}).Steps {
		id, err := digest.ParseActionID(st.ActionID)
		if err != nil {
			t.Fatal(err)
		}
		r.cache.Evict(id, "gc")
	}
	if _, board := r.visit(s, engine.ApplyOptions{}); strings.Join(board, " ") != "tries=2 weather=sun" {
		t.Errorf("the board has %q", board)
	}
}
