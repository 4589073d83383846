package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// ship is a kind that leaves its engine to the machine, which is a harbour.
func (h *harbour) kind() step.Kind {
	return step.Kind{
		Name: "ship", Version: "1",
		Args: []step.Attr{
			{Name: "engine", Type: cty.String, Default: cty.StringVal("auto"), Open: "auto"},
			{Name: "required_isolation", Type: cty.String, Setting: true, Cosmetic: true},
			{Name: "after", Type: step.ArtifactType},
		},
		Outputs: []step.Output{{Name: "content", Type: step.ArtifactType}},
		Choose:  h.choose,
		New: func(args step.Args) (step.Step, error) {
			s := &voyage{harbour: h}
			return s, args.Decode(&s.args)
		},
	}
}

type harbour struct {
	// engine is what it has; empty for none.
	engine string
	mu     sync.Mutex
	asked  int
	sailed []string
}

func (h *harbour) choose(args step.Args) ([]step.Choice, error) {
	h.mu.Lock()
	h.asked++
	h.mu.Unlock()
	if v := args.Get("required_isolation"); !v.IsNull() && v.AsString() != h.engine || h.engine == "" {
		return nil, step.WrongArg("required_isolation", errors.New("no such engine in this harbour"))
	}
	c := step.Choice{Arg: "engine", Value: h.engine, Why: "the harbour has it"}
	if h.engine == "oars" {
		c.Warning = "somebody has to row"
	}
	return []step.Choice{c}, nil
}

type voyage struct {
	harbour *harbour
	args    struct {
		Engine   string         `cty:"engine"`
		Required *string        `cty:"required_isolation"`
		After    *step.Artifact `cty:"after"`
	}
}

// Run implements step.Step.
func (v *voyage) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	v.harbour.mu.Lock()
	v.harbour.sailed = append(v.harbour.sailed, v.args.Engine)
	v.harbour.mu.Unlock()
	ref, err := cache.PutBytes(ctx, env.Store, []byte("arrived by "+v.args.Engine))
	return cache.Outputs{"content": {Ref: ref}}, err
}

const regatta = `
step "ship" "first" {}
step "ship" "second" { after = step.ship.first.content }
`

func newHarbour(t *testing.T, motor string) (*rig, *harbour) {
	r, h := newRig(t), &harbour{engine: motor}
	r.more = []step.Kind{h.kind()}
	return r, h
}

// TestChoice: what the machine chose is in the key as if it had been written, in
// the plan with the reason, and in what runs.
func TestChoice(t *testing.T) {
	r, h := newHarbour(t, "steam")
	ctx := context.Background()
	want := []step.Choice{{Arg: "engine", Value: "steam", Why: "the harbour has it"}}
	for _, s := range r.plan(regatta, engine.PlanOptions{}).Steps {
		if diff := cmp.Diff(want, s.Choices); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Name, diff)
		}
	}
	r.apply(ctx, regatta, engine.ApplyOptions{})
	if diff := cmp.Diff([]string{"steam", "steam"}, h.sailed); diff != "" {
		t.Error(diff)
	}
	h.asked = 0
	written := strings.ReplaceAll(regatta, "{ after", "{\n engine = \"steam\"\n after")
	written = strings.ReplaceAll(strings.Replace(written, "{}", `{ engine = "steam" }`, 1), "content }", "content\n}")
	pl := r.plan(written, engine.PlanOptions{})
	if pl.Steps[0].Action != plan.Cached || pl.Steps[1].Action != plan.Cached || h.asked != 0 {
		t.Errorf("written: %s, %s; the machine was asked %d times", pl.Steps[0].Action, pl.Steps[1].Action, h.asked)
	}
}

// TestChoiceElsewhere: on a machine that chooses otherwise the step runs again,
// and plan and explain say what is different. With a lock the results that it pins are
// used, and without them it says what is different.
func TestChoiceElsewhere(t *testing.T) {
	r, h := newHarbour(t, "steam")
	ctx := context.Background()
	r.apply(ctx, regatta, engine.ApplyOptions{})
	lock, diags := r.engine().Lock(ctx, r.program(regatta), engine.LockOptions{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	h.engine = "oars"
	pl := r.plan(regatta, engine.PlanOptions{})
	if s := pl.Steps[0]; s.Action != plan.Run || s.Reasons[0].Text != "engine changed from steam to oars" {
		t.Errorf("%s, %+v", s.Action, s.Reasons)
	}
	x, diags := r.engine().Explain(ctx, r.program(regatta), addr.Instance{Step: addr.Step{Kind: "ship", Name: "first"}})
	if diags.HasErrors() || x.Fields[2].Label != "engine" || x.Fields[2].Value != "oars" || x.Fields[2].Was != "steam" {
		t.Errorf("%+v, %v", x, diags)
	}
	if res := r.apply(ctx, regatta, engine.ApplyOptions{Lock: lock}); res.Counts[event.Cached] != 2 {
		t.Errorf("locked: %v", res.Counts)
	}
	for _, s := range lock.Steps {
		r.cache.Evict(s.Action, "gc")
	}
	_, diags = r.engine().Apply(ctx, r.program(regatta), engine.ApplyOptions{Lock: lock})
	for _, want := range []string{
		"step.ship.first: engine is oars, which this machine chose (the harbour has it); the lock has steam",
		"step.ship.second: engine is oars, which this machine chose", // known before the first has run
	} {
		if !strings.Contains(diags.Error(), want) {
			t.Errorf("locked: %v lacks %q", diags, want)
		}
	}
	if len(h.sailed) != 2 {
		t.Errorf("something ran: %v", h.sailed)
	}
}

// TestChoiceVerified: a run is verified as the machine chose that made it.
func TestChoiceVerified(t *testing.T) {
	r, h := newHarbour(t, "steam")
	r.apply(context.Background(), regatta, engine.ApplyOptions{})
	h.engine = ""
	for address, v := range r.verdicts(regatta, engine.VerifyOptions{}) {
		if v.Verdict != engine.Same {
			t.Errorf("%s: %+v", address, v)
		}
	}
}

// TestChoiceWarns: each warning comes once, before anything runs.
func TestChoiceWarns(t *testing.T) {
	r, _ := newHarbour(t, "oars")
	r.apply(context.Background(), regatta, engine.ApplyOptions{})
	warned, started := 0, false
	for _, e := range r.events {
		switch e := e.(type) {
		case event.StepStarted:
			started = true
		case event.Warning:
			if warned++; e.Message != "somebody has to row" || started {
				t.Errorf("%q after the first step started: %v", e.Message, started)
			}
		}
	}
	if warned != 1 {
		t.Errorf("%d warnings", warned)
	}
}

// TestChoiceRefused: a plan is refused at the setting of the mleflow block; a check
// of the file alone does not ask the machine.
func TestChoiceRefused(t *testing.T) {
	r, h := newHarbour(t, "oars")
	src := "variable \"power\" { default = \"steam\" }\nmleflow { required_isolation = var.power }\n" + regatta
	_, diags := r.engine().Plan(context.Background(), r.program(src), engine.PlanOptions{})
	if !diags.HasErrors() || diags[0].Subject.Start.Line != 2 || !strings.Contains(diags[0].Detail, "No such engine in this harbour") && !strings.Contains(diags[0].Detail, "no such engine in this harbour") {
		t.Errorf("%v", diags)
	}
	h.asked = 0
	if diags := r.engine().Check(r.program(src)); diags.HasErrors() || h.asked != 0 {
		t.Errorf("check: %v; the machine was asked %d times", diags, h.asked)
	}
	own := strings.Replace(src, "{}", `{ required_isolation = "oars" }`, 1)
	_, diags = r.engine().Plan(context.Background(), r.program(own), engine.PlanOptions{Targets: []addr.Instance{{Step: addr.Step{Kind: "ship", Name: "first"}}}})
	if diags.HasErrors() {
		t.Errorf("a step's own argument: %v", diags)
	}
}
