package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/step"
)

// dice is a kind that gives something else each time.
type dice struct{ thrown int }

func (d *dice) kind() step.Kind {
	return step.Kind{
		Name: "dice", Version: "1", Varies: true,
		Args:    []step.Attr{{Name: "from", Type: step.ArtifactType}},
		Outputs: []step.Output{{Name: "content", Type: step.ArtifactType}, {Name: "value", Type: cty.Number}},
		New:     func(step.Args) (step.Step, error) { return d, nil },
	}
}

// Run implements step.Step.
func (d *dice) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	d.thrown++
	text, _ := json.Marshal(d.thrown)
	ref, err := cache.PutBytes(ctx, env.Store, text)
	return cache.Outputs{"content": {Ref: ref}, "value": {JSON: text}}, err
}

const gamble = `
step "mix" "table" { text = "oak" }
step "dice" "throw" { from = step.mix.table.content }
step "mix" "score" {
  text   = "sum"
  inputs = [step.dice.throw.content, step.mix.table.content]
}
step "mix" "told" { text = "it is ${step.dice.throw.value}" }
step "mix" "board" {
  text   = "board"
  inputs = [step.mix.score.content]
}
`

func newGamble(t *testing.T) *rig {
	r := newRig(t)
	r.more = []step.Kind{(&dice{}).kind()}
	return r
}

func (r *rig) lock(src string, o engine.LockOptions) *lockfile.File {
	r.t.Helper()
	f, diags := r.engine().Lock(context.Background(), r.program(src), o)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	f, diags = lockfile.Parse("rig.lock.hcl", f.Encode())
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	return f
}

func pins(f *lockfile.File, address string) lockfile.Step {
	for _, s := range f.Steps {
		if s.Addr.String() == address {
			return s
		}
	}
	return lockfile.Step{}
}

// TestLockPinsWhatIsFixed pins all inputs and the outputs of what does not
// depend on the dice.
func TestLockPinsWhatIsFixed(t *testing.T) {
	r := newGamble(t)
	if _, diags := r.engine().Lock(context.Background(), r.program(gamble), engine.LockOptions{}); !diags.HasErrors() || !strings.Contains(diags.Error(), "apply") {
		t.Errorf("locked what never ran: %v", diags)
	}
	r.apply(context.Background(), gamble, engine.ApplyOptions{})
	f := r.lock(gamble, engine.LockOptions{})
	if s := pins(f, "step.mix.table"); s.Action.IsZero() || s.Inputs["text"] != "oak" || len(s.Outputs) != 2 {
		t.Errorf("fixed step: %+v", s)
	}
	if s := pins(f, "step.dice.throw"); s.Action.IsZero() || s.Outputs != nil || s.Inputs["from"] == "" {
		t.Errorf("varying step: %+v", s)
	}
	for address, want := range map[string]string{"step.mix.score": "step.dice.throw", "step.mix.told": "step.dice.throw", "step.mix.board": "step.mix.score"} {
		s := pins(f, address)
		found := false
		for _, v := range s.Inputs {
			from, ok := lockfile.Varying(v)
			found = found || ok && from == want
		}
		if !found || !s.Action.IsZero() || s.Outputs != nil || s.Inputs["kind version"] != "1" {
			t.Errorf("%s does not vary with %s: %+v", address, want, s)
		}
	}
	for _, s := range r.lock(gamble, engine.LockOptions{Results: true}).Steps {
		if s.Action.IsZero() || s.Outputs == nil {
			t.Errorf("with results, not pinned: %+v", s)
		}
	}
}

// TestLocked applies edits of a pipeline under its lock, in the cache it was
// locked with and in an empty one.
func TestLocked(t *testing.T) {
	tests := []struct {
		name, old, new string
		want           string // what a refusal says; "" is none
	}{
		{"same", "", "", ""},
		{"input", `"oak"`, `"elm"`, "step.mix.table: text is elm; the lock has oak"},
		{"input of what varies", `"sum"`, `"product"`, "step.mix.score: text is product; the lock has sum"},
		{"new step", `step "mix" "board"`, "step \"mix\" \"new\" {\n text = \"x\"\n}\nstep \"mix\" \"board\"", "step.mix.new is in the pipeline and not in the lock"},
		{"step gone", "step \"mix\" \"told\" { text = \"it is ${step.dice.throw.value}\" }", "", "step.mix.told is in the lock and not in the pipeline"},
	}
	for _, tt := range tests {
		for _, empty := range []bool{false, true} {
			r := newGamble(t)
			r.apply(context.Background(), gamble, engine.ApplyOptions{})
			lock := r.lock(gamble, engine.LockOptions{})
			if empty {
				r.cache = memory.New()
			}
			res, diags := r.engine().Apply(context.Background(), r.program(strings.Replace(gamble, tt.old, tt.new, 1)), engine.ApplyOptions{Lock: lock, KeepGoing: true})
			err := diag.Cause(diags)
			if err == nil && res != nil && res.Status == event.Failed {
				err = res.Failures[0].Err
			}
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("%s, empty cache %v: %v", tt.name, empty, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, step.ErrMismatch)):
				t.Errorf("%s, empty cache %v: got %v, want a mismatch with %q", tt.name, empty, err, tt.want)
			}
		}
	}
}

// TestLockedOutputs refuses a step that gives something else than locked, and
// does not record it.
func TestLockedOutputs(t *testing.T) {
	r := newGamble(t)
	r.apply(context.Background(), gamble, engine.ApplyOptions{})
	lock := r.lock(gamble, engine.LockOptions{Results: true})
	r.cache = memory.New()
	res := r.apply(context.Background(), gamble, engine.ApplyOptions{Lock: lock})
	if !res.Mismatch() || len(res.Failures) != 1 || res.Failures[0].Address != "step.dice.throw" {
		t.Fatalf("%+v", res)
	}
	if text := res.Failures[0].Err.Error(); !strings.Contains(text, "output value is 2; the lock has 1") || !strings.Contains(text, "output content is blob ") {
		t.Errorf("%s", text)
	}
	if res := r.apply(context.Background(), gamble, engine.ApplyOptions{Lock: lock}); !res.Mismatch() || res.Counts[event.Cached] != 1 {
		t.Errorf("again: %+v", res.Counts)
	}
}

// TestLockedVersions refuses another program and another kind version.
func TestLockedVersions(t *testing.T) {
	r := newGamble(t)
	r.apply(context.Background(), diamond, engine.ApplyOptions{})
	lock := r.lock(diamond, engine.LockOptions{})
	lock.Version = "0.0.9"
	_, diags := r.engine().Apply(context.Background(), r.program(diamond), engine.ApplyOptions{Lock: lock})
	if err := diag.Cause(diags); err == nil || !strings.Contains(err.Error(), "mleflow: version is 0.1.0; the lock has 0.0.9") {
		t.Errorf("program: %v", diags)
	}
	lock = r.lock(diamond, engine.LockOptions{})
	for i := range lock.Steps {
		lock.Steps[i].Inputs["kind version"] = "0"
	}
	_, diags = r.engine().Apply(context.Background(), r.program(diamond), engine.ApplyOptions{Lock: lock})
	if err := diag.Cause(diags); err == nil || !strings.Contains(err.Error(), "kind version is 1; the lock has 0") {
		t.Errorf("kind: %v", diags)
	}
}
