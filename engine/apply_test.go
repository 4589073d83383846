package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/enginetest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// rig is an engine on a memory cache with a run history, and a kind "call" whose
// instances do what the test says.
type rig struct {
	t       *testing.T
	cache   *memory.Cache
	history *history.Store
	rec     *enginetest.Recorder
	events  []event.Event
	// call is what instances of kind "call" do.
	call func(ctx context.Context, env *step.Env) error
	// version is that of kind "call".
	version string
	gpus    []string
	// remote is the remote cache, if any.
	remote engine.Remote
	// more are further kinds.
	more []step.Kind
}

func newRig(t *testing.T) *rig {
	return &rig{t: t, cache: memory.New(), history: history.New(t.TempDir()), rec: &enginetest.Recorder{Fail: map[string]error{}}, version: "1"}
}

func (r *rig) kinds() *step.Registry {
	call := step.Kind{
		Name: "call", Version: r.version,
		Args: []step.Attr{
			{Name: "text", Type: cty.String},
			{Name: "note", Type: cty.String, Cosmetic: true},
			{Name: "after", Type: step.ArtifactType},
		},
		Outputs: []step.Output{{Name: "out", Type: step.ArtifactType}},
		New:     func(step.Args) (step.Step, error) { return caller{r}, nil },
	}
	return step.NewRegistry(append([]step.Kind{enginetest.Mix("mix", "1", r.rec), call}, r.more...)...)
}

type caller struct{ r *rig }

func (c caller) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if c.r.call != nil {
		if err := c.r.call(ctx, env); err != nil {
			return nil, err
		}
	}
	ref, err := cache.PutBytes(ctx, env.Store, []byte("out"))
	return cache.Outputs{"out": {Ref: ref}}, err
}

func (r *rig) engine() *engine.Engine {
	return engine.New(engine.Options{Options: config.Options{Kinds: r.kinds(), Version: "0.1.0"}, Cache: r.cache, History: r.history, Remote: r.remote,
		Capacity: sched.Capacity{CPUs: 4, MemoryBytes: 8 << 30, Devices: r.gpus}})
}

func (r *rig) program(src string) *engine.Program {
	r.t.Helper()
	p, diags := r.engine().Parse("rig.hcl", []byte(src), config.Inputs{})
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	return p
}

func (r *rig) apply(ctx context.Context, src string, o engine.ApplyOptions) *engine.Result {
	r.t.Helper()
	return r.applied(ctx, r.program(src), o)
}

func (r *rig) applied(ctx context.Context, p *engine.Program, o engine.ApplyOptions) *engine.Result {
	r.t.Helper()
	r.events = nil
	o.Sink = event.SinkFunc(func(e event.Event) { r.events = append(r.events, e) })
	res, diags := r.engine().Apply(ctx, p, o)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	return res
}

func (r *rig) plan(src string, o engine.PlanOptions) *plan.Plan {
	r.t.Helper()
	pl, diags := r.engine().Plan(context.Background(), r.program(src), o)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	return pl
}

// finished maps each address to how it ended.
func (r *rig) finished() map[string]event.Status {
	all := map[string]event.Status{}
	for _, e := range r.events {
		if f, ok := e.(event.StepFinished); ok {
			all[f.Address] = f.Status
		}
	}
	return all
}

const diamond = `
step "mix" "a" { text = "a" }
step "mix" "b" {
  text   = "b"
  inputs = [step.mix.a.content]
}
step "mix" "c" {
  text   = "c"
  inputs = [step.mix.a.content]
}
step "mix" "d" {
  text   = "d ${step.mix.b.value}"
  inputs = [step.mix.b.content, step.mix.c.content]
}
output "d" { value = step.mix.d.value }
`

func TestSecondApplyRunsNothing(t *testing.T) {
	r := newRig(t)
	first := r.apply(context.Background(), diamond, engine.ApplyOptions{})
	second := r.apply(context.Background(), diamond, engine.ApplyOptions{})
	if first.Counts[event.Ran] != 4 || !maps.Equal(second.Counts, map[event.Status]int{event.Cached: 4}) {
		t.Errorf("first %+v, second %+v", first.Counts, second.Counts)
	}
	if !second.Outputs[0].Known || second.Outputs[0].Value != first.Outputs[0].Value || first.Outputs[0].Value == "" {
		t.Errorf("outputs %+v, then %+v", first.Outputs, second.Outputs)
	}
}

func TestPlanReasons(t *testing.T) {
	r := newRig(t)
	pl := r.plan(diamond, engine.PlanOptions{})
	want := map[string]plan.Action{"step.mix.a": plan.Run, "step.mix.b": plan.Deferred, "step.mix.c": plan.Deferred, "step.mix.d": plan.Deferred}
	for i := range pl.Steps {
		if pl.Steps[i].Action != want[pl.Steps[i].Name] {
			t.Errorf("%s: %s", pl.Steps[i].Name, pl.Steps[i].Action)
		}
	}
	if got := pl.Steps[0].Reasons[0].Text; got != "first run" {
		t.Errorf("reason %q", got)
	}
	r.apply(context.Background(), diamond, engine.ApplyOptions{})
	edited := strings.Replace(diamond, `text   = "b"`, `text   = "b2"`, 1)
	pl = r.plan(edited, engine.PlanOptions{})
	got := []plan.Reason{}
	for i := range pl.Steps {
		got = append(got, pl.Steps[i].Reasons...)
	}
	if diff := cmp.Diff([]plan.Reason{
		{Field: "text", From: "b", To: "b2", Text: "text changed from b to b2"},
		{Text: "waits for step.mix.b, which runs"},
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestReasonsOfContentAndEviction(t *testing.T) {
	r := newRig(t)
	r.apply(context.Background(), diamond, engine.ApplyOptions{})
	edited := strings.Replace(diamond, `text = "a"`, `text = "a2"`, 1)
	r.apply(context.Background(), edited, engine.ApplyOptions{PlanOptions: engine.PlanOptions{Targets: []addr.Instance{{Step: addr.Step{Kind: "mix", Name: "a"}}}}})
	pl := r.plan(edited, engine.PlanOptions{})
	b := pl.Steps[1]
	if len(b.Reasons) != 1 || b.Reasons[0].Field != "inputs[0]" || len(b.Reasons[0].From) != 64 || b.Reasons[0].From == b.Reasons[0].To {
		t.Errorf("reasons of b: %+v", b.Reasons)
	}
	pl = r.plan(diamond, engine.PlanOptions{})
	id, err := digest.ParseActionID(pl.Steps[2].ActionID)
	if err != nil {
		t.Fatal(err)
	}
	r.cache.Evict(id, "quota")
	pl = r.plan(diamond, engine.PlanOptions{})
	if got := pl.Steps[2].Reasons[0].Text; pl.Steps[2].Action != plan.Run || !strings.Contains(got, "evicted on 2") || !strings.Contains(got, "by quota") {
		t.Errorf("%s: %s", pl.Steps[2].Action, got)
	}
}

func TestKindVersionAndCosmetic(t *testing.T) {
	r := newRig(t)
	r.apply(context.Background(), `step "call" "x" { text = "t" }`, engine.ApplyOptions{})
	pl := r.plan("step \"call\" \"x\" {\n text = \"t\"\n note = \"new\"\n}", engine.PlanOptions{})
	if pl.Steps[0].Action != plan.Cached {
		t.Errorf("a cosmetic change: %s %v", pl.Steps[0].Action, pl.Steps[0].Reasons)
	}
	r.version = "2"
	pl = r.plan(`step "call" "x" { text = "t" }`, engine.PlanOptions{})
	if len(pl.Steps[0].Reasons) != 1 || pl.Steps[0].Reasons[0].Text != "kind version changed from 1 to 2" {
		t.Errorf("%v", pl.Steps[0].Reasons)
	}
}

func TestTargetAndForce(t *testing.T) {
	r := newRig(t)
	b := addr.Instance{Step: addr.Step{Kind: "mix", Name: "b"}}
	res := r.apply(context.Background(), diamond, engine.ApplyOptions{PlanOptions: engine.PlanOptions{Targets: []addr.Instance{b}}})
	if got := slices.Sorted(slices.Values(r.rec.Ran())); !slices.Equal(got, []string{"step.mix.a", "step.mix.b"}) || res.Outputs[0].Known {
		t.Errorf("target ran %v, output %+v", got, res.Outputs[0])
	}
	r.apply(context.Background(), diamond, engine.ApplyOptions{})
	r.rec.Ran()
	res = r.apply(context.Background(), diamond, engine.ApplyOptions{PlanOptions: engine.PlanOptions{Force: []addr.Instance{b}}})
	if got := r.rec.Ran(); !slices.Equal(got, []string{"step.mix.b"}) || res.Counts[event.Cached] != 3 {
		t.Errorf("force ran %v, %+v", got, res.Counts)
	}
	_, diags := r.engine().Plan(context.Background(), r.program(diamond), engine.PlanOptions{Targets: []addr.Instance{{Step: addr.Step{Kind: "mix", Name: "bb"}}}})
	if !diags.HasErrors() || !strings.Contains(diags.Error(), "step.mix.bb") {
		t.Errorf("unknown target: %v", diags)
	}
}

const forked = `
step "call" "bad" { text = "bad" }
step "call" "after" {
  text  = "after"
  after = step.call.bad.out
}
step "call" "last" {
  text  = "last"
  after = step.call.after.out
}
step "call" "other" { text = "other" }
step "call" "then" {
  text  = "then"
  after = step.call.other.out
}
`

func TestFailureIsolation(t *testing.T) {
	r := newRig(t)
	boom := errors.New("boom")
	r.call = func(_ context.Context, env *step.Env) error {
		if env.Address == "step.call.bad" {
			return step.Mismatch(boom)
		}
		return nil
	}
	res := r.apply(context.Background(), forked, engine.ApplyOptions{KeepGoing: true})
	want := map[string]event.Status{"step.call.bad": event.Failed, "step.call.after": event.Skipped, "step.call.last": event.Skipped, "step.call.other": event.Ran, "step.call.then": event.Ran}
	if diff := cmp.Diff(want, r.finished()); diff != "" {
		t.Error(diff)
	}
	if len(res.Failures) != 1 || !errors.Is(res.Failures[0].Err, boom) || !res.Mismatch() || res.Status != event.Failed {
		t.Errorf("%+v", res)
	}
	for _, e := range r.events {
		if f, ok := e.(event.StepFinished); ok && f.Status == event.Skipped && f.Error != "step.call.bad" {
			t.Errorf("%s names %q as the cause", f.Address, f.Error)
		}
	}
	r.call = nil
	if again := r.apply(context.Background(), forked, engine.ApplyOptions{}); again.Counts[event.Ran] != 3 || again.Counts[event.Cached] != 2 {
		t.Errorf("after the fix: %+v", again.Counts)
	}
}

func TestRetriesAndTimeout(t *testing.T) {
	r := newRig(t)
	attempts := 0
	r.call = func(_ context.Context, env *step.Env) error {
		if attempts++; env.Try != attempts {
			t.Errorf("attempt %d says it is %d", attempts, env.Try)
		}
		if attempts < 3 {
			return step.Retryable(errors.New("busy"), time.Millisecond)
		}
		return nil
	}
	src := "step \"call\" \"x\" {\n retry {\n attempts = 3\n backoff = \"1ms\"\n }\n}"
	if res := r.apply(context.Background(), src, engine.ApplyOptions{}); res.Status != event.Ran || attempts != 3 {
		t.Errorf("%+v after %d attempts", res, attempts)
	}
	r.call = func(ctx context.Context, _ *step.Env) error { <-ctx.Done(); return ctx.Err() }
	res := r.apply(context.Background(), "step \"call\" \"y\" {\n text = \"y\"\n timeout = \"20ms\"\n}", engine.ApplyOptions{})
	if res.Status != event.Failed || !strings.Contains(res.Failures[0].Err.Error(), "20ms") {
		t.Errorf("%+v", res.Failures)
	}
}

func TestInterrupt(t *testing.T) {
	for _, cause := range []error{nil, engine.ErrPaused} {
		r := newRig(t)
		ctx, cancel := context.WithCancelCause(context.Background())
		r.call = func(ctx context.Context, _ *step.Env) error { cancel(cause); <-ctx.Done(); return ctx.Err() }
		res := r.apply(ctx, forked, engine.ApplyOptions{Parallelism: 1})
		if res.Status != event.Cancelled || res.Counts[event.Cancelled] != 5 {
			t.Errorf("%v: %+v", cause, res)
		}
		if last, ok := r.events[len(r.events)-1].(event.RunFinished); !ok || last.Status != event.Cancelled || last.Paused != (cause != nil) {
			t.Errorf("%v: last event %+v", cause, r.events[len(r.events)-1])
		}
	}
}

func TestPanicIsAFailure(t *testing.T) {
	r := newRig(t)
	r.call = func(context.Context, *step.Env) error { panic("oh") }
	if res := r.apply(context.Background(), `step "call" "x" {}`, engine.ApplyOptions{}); !strings.Contains(res.Failures[0].Err.Error(), "internal error") {
		t.Errorf("%+v", res.Failures)
	}
	if !slices.ContainsFunc(r.events, func(e event.Event) bool {
		l, ok := e.(event.StepLog)
		return ok && strings.Contains(l.Line, "apply_test.go")
	}) {
		t.Error("the log does not say where it panicked")
	}
}

func TestResources(t *testing.T) {
	r := newRig(t)
	_, diags := r.engine().Apply(context.Background(), r.program("step \"call\" \"x\" {\n resources {\n gpus = 2\n }\n}"), engine.ApplyOptions{})
	if !diags.HasErrors() || !strings.Contains(diags.Error(), "2 GPUs") {
		t.Errorf("%v", diags)
	}
	r.gpus = []string{"gpu:0", "gpu:1"}
	leased := map[string]bool{}
	r.call = func(_ context.Context, env *step.Env) error {
		for _, d := range env.Devices {
			leased[d] = true
		}
		return nil
	}
	res := r.apply(context.Background(), "step \"call\" \"x\" {\n resources {\n gpus = 2\n }\n}", engine.ApplyOptions{})
	if res.Status != event.Ran || len(leased) != 2 {
		t.Errorf("%+v with %v", res, leased)
	}
}

func TestRequireCached(t *testing.T) {
	r := newRig(t)
	_, diags := r.engine().Apply(context.Background(), r.program(diamond), engine.ApplyOptions{RequireCached: true})
	if !diags.HasErrors() || !strings.Contains(diags.Error(), "step.mix.a") || len(r.rec.Ran()) != 0 {
		t.Errorf("%v", diags)
	}
	r.apply(context.Background(), diamond, engine.ApplyOptions{})
	if res := r.apply(context.Background(), diamond, engine.ApplyOptions{RequireCached: true}); res.Counts[event.Cached] != 4 {
		t.Errorf("%+v", res.Counts)
	}
}

// TestSameActionOnce runs one action that many instances share, some of them
// found to be the same only while running.
func TestSameActionOnce(t *testing.T) {
	r := newRig(t)
	src := `
locals { keys = toset([for i in range(20) : tostring(i)]) }
step "mix" "first" {
  for_each = local.keys
  text     = "same#${each.key}"
}
step "mix" "second" {
  for_each = local.keys
  text     = "second"
  inputs   = [step.mix.first[each.key].content]
}
`
	res := r.apply(context.Background(), src, engine.ApplyOptions{})
	ran := r.rec.Ran()
	if len(ran) != 21 || res.Counts[event.Ran] != 21 || res.Counts[event.Cached] != 19 {
		t.Errorf("%d executions, %+v", len(ran), res.Counts)
	}
}

func TestExplain(t *testing.T) {
	r := newRig(t)
	r.apply(context.Background(), diamond, engine.ApplyOptions{})
	edited := strings.Replace(diamond, `text = "a"`, `text = "a2"`, 1)
	x, diags := r.engine().Explain(context.Background(), r.program(edited), addr.Instance{Step: addr.Step{Kind: "mix", Name: "a"}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	want := []engine.Field{{Label: "kind", Value: "mix"}, {Label: "kind version", Value: "1"}, {Label: "text", Value: "a2", Was: "a"}}
	if diff := cmp.Diff(want, x.Fields); diff != "" || x.Last == "" {
		t.Error(diff, x.Last)
	}
}

func TestLedgerHasTheRun(t *testing.T) {
	r := newRig(t)
	r.call = func(_ context.Context, env *step.Env) error {
		_, err := fmt.Fprint(env.Log, "hello\nworld")
		return err
	}
	res := r.apply(context.Background(), `step "call" "x" {}`, engine.ApplyOptions{})
	past, err := r.history.Find(res.RunID)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := past.Summary()
	if err != nil {
		t.Fatal(err)
	}
	if s := sum.Step("step.call.x"); s == nil || s.Status != event.Ran {
		t.Errorf("%+v", s)
	}
	var lines []string
	for _, e := range r.events {
		if l, ok := e.(event.StepLog); ok {
			lines = append(lines, l.Line)
		}
	}
	if !slices.Equal(lines, []string{"hello", "world"}) || len(past.Logs("step.call.x")) != 1 {
		t.Errorf("lines %q, logs %v", lines, past.Logs("step.call.x"))
	}
}

// A sensitive value given on the command line is in no file of the run history, nor
// is one that the pipeline's own text has as a default.
func TestLedgerHasNoSensitiveValue(t *testing.T) {
	r := newRig(t)
	src := "variable \"token\" {\n sensitive = true\n default = \"default-s3cret\"\n}\nstep \"call\" \"x\" {}"
	r.call = func(_ context.Context, env *step.Env) error {
		_, err := fmt.Fprintln(env.Log, "the token is given-s3cret")
		return err
	}
	for _, in := range []config.Inputs{{}, {Assignments: []config.Assignment{{Text: "token=given-s3cret"}}}} {
		p, diags := r.engine().Parse("rig.hcl", []byte(src), in)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		res, diags := r.engine().Apply(context.Background(), p, engine.ApplyOptions{Args: []string{"mleflow", "apply", "-var", "token=given-s3cret"}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		past, err := r.history.Find(res.RunID)
		if err != nil {
			t.Fatal(err)
		}
		secret := "default-s3cret"
		if len(in.Assignments) > 0 {
			secret = "given-s3cret"
		}
		err = filepath.WalkDir(past.Dir(), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds the secret", filepath.Base(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
