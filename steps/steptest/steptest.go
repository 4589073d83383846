// Package steptest is a test bench for step kinds: it decodes arguments as the
// engine does and runs a step on a cache in memory.
package steptest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// Bench runs steps of one kind.
type Bench struct {
	Kind  *step.Kind
	Store cache.Cache
	// Limits are the limits of the steps that run.
	Limits step.Limits

	// Phase, if set, is called with the phases of the steps that run.
	Phase func(step.Phase)
	// Requests is what people ask of the steps that run.
	Requests chan step.Asked
	// Stalled, if set, is called when a step that runs stands still, or works again.
	Stalled func(step.Stall)

	mu       sync.Mutex
	log      bytes.Buffer
	warnings []string
	cause    string
	resumes  int
	secretIn []string
	steered  []string
	told     []step.Progress
}

// New returns a bench for a kind on a new cache in memory.
func New(kind step.Kind) *Bench {
	return &Bench{Kind: &kind, Store: memory.New(), Limits: step.Limits{CPUs: 1}}
}

// Args returns the arguments that the engine would decode from a block with
// these values: converted to the types of the schema, with defaults. A nested
// block is an object.
func (b *Bench) Args(t testing.TB, values map[string]cty.Value) step.Args {
	t.Helper()
	object := map[string]cty.Value{}
	for i := range b.Kind.Args {
		object[b.Kind.Args[i].Name] = attr(t, &b.Kind.Args[i], values)
	}
	for _, block := range b.Kind.Blocks {
		given, ok := values[block.Name]
		if !ok {
			object[block.Name] = cty.NullVal(block.Type())
			continue
		}
		inner := map[string]cty.Value{}
		for i := range block.Args {
			inner[block.Args[i].Name] = attr(t, &block.Args[i], given.AsValueMap())
		}
		object[block.Name] = cty.ObjectVal(inner)
	}
	for name := range values {
		if _, ok := object[name]; !ok {
			t.Fatalf("kind %s has no argument %q", b.Kind.Name, name)
		}
	}
	value := cty.ObjectVal(object)
	args := step.ArgsOf(value)
	args.Limits, args.Conditions = b.Limits, conditionsOf(value)
	return args
}

// conditionsOf returns the conditions of all artifacts in a value.
func conditionsOf(v cty.Value) (all []string) {
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == step.ArtifactType && !v.IsNull() {
			all = step.UnionConditions(all, v.EncapsulatedValue().(*step.Artifact).Conditions)
		}
		return true, nil
	})
	return all
}

// Under returns an artifact as if it had been made under the given conditions.
func Under(v cty.Value, conditions ...string) cty.Value {
	a := *v.EncapsulatedValue().(*step.Artifact)
	a.Conditions = conditions
	return step.NewArtifact(&a)
}

func attr(t testing.TB, a *step.Attr, values map[string]cty.Value) cty.Value {
	t.Helper()
	v, ok := values[a.Name]
	switch {
	case ok:
		out, err := convert.Convert(v, a.Type)
		if err != nil {
			t.Fatalf("argument %s: %v", a.Name, err)
		}
		return out
	case a.Required:
		t.Fatalf("argument %s is required", a.Name)
	case a.Default != (cty.Value{}):
		return a.Default
	}
	return cty.NullVal(a.Type)
}

// Run runs a step with these arguments in a new work folder.
func (b *Bench) Run(t testing.TB, values map[string]cty.Value) (cache.Outputs, error) {
	t.Helper()
	return b.RunIn(t, t.Context(), WorkDir(t), values)
}

// WorkDir returns an empty folder that is removed after the test, read-only
// folders below it included.
func WorkDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if err := tree.Remove(filepath.Join(dir, e.Name())); err != nil {
				t.Errorf("clean up: %v", err)
			}
		}
	})
	return dir
}

// RunIn is Run with a context and a work folder.
func (b *Bench) RunIn(t testing.TB, ctx context.Context, dir string, values map[string]cty.Value) (cache.Outputs, error) {
	t.Helper()
	args, _, err := b.Kind.Settle(b.Args(t, values))
	if err != nil {
		return nil, err
	}
	s, err := b.Kind.New(args)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.cause = ""
	b.mu.Unlock()
	env := b.env(dir)
	if key, err := step.Key(b.Kind, args, s); err == nil {
		env.Action = key.Sum()
	}
	out, err := s.Run(ctx, env)
	if err == nil {
		if err := b.Kind.CheckOutputs(out); err != nil {
			t.Errorf("the result of the step is wrong: %v", err)
		}
	}
	return out, err
}

// env returns the environment of an attempt in dir.
func (b *Bench) env(dir string) *step.Env {
	return &step.Env{
		Address: "step." + b.Kind.Name + ".test", Try: 1, RunID: "test-run",
		Store: b.Store, WorkDir: dir, Limits: b.Limits,
		Log: lockedWriter{b},
		Progress: func(p step.Progress) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.told = append(b.told, p)
		},
		Phase: b.phase,
		Provisional: func(cause, why string) bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.cause = cause + ": " + why
			return true
		},
		Resumed: func(times int) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.resumes = times
		},
		Requests: b.Requests,
		Steered: func(words []string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.steered = words
		},
		Stalled: func(s step.Stall) {
			if b.Stalled != nil {
				b.Stalled(s)
			}
		},
		SecretIn: func(outputs []string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.secretIn = outputs
		},
		Warn: func(text string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.warnings = append(b.warnings, text)
		},
	}
}

// Ends returns the last report of each part of the work, in the order in which the
// parts ended. A report that goes back or exceeds its total fails the test, and so does
// a part that ended before its total.
func (b *Bench) Ends(t testing.TB) []step.Progress {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	last := map[string]step.Progress{}
	var order []string
	for _, p := range b.told {
		before := last[p.What]
		over := before.Total > 0 && before.Done == before.Total // the next part may do the same again
		if !over && p.Unit == before.Unit && (p.Done < before.Done || p.Bytes < before.Bytes) || p.Total > 0 && p.Done > p.Total || p.TotalBytes > 0 && p.Bytes > p.TotalBytes {
			t.Errorf("%+v after %+v", p, before)
		}
		last[p.What] = p
		order = append(slices.DeleteFunc(order, func(what string) bool { return what == p.What }), p.What)
	}
	var ends []step.Progress
	for _, what := range order {
		p := last[what]
		if p.Total > 0 && p.Done != p.Total || p.TotalBytes > 0 && p.Bytes != p.TotalBytes {
			t.Errorf("it ended at %+v", p)
		}
		ends = append(ends, p)
	}
	return ends
}

func (b *Bench) phase(p step.Phase) {
	if b.Phase != nil {
		b.Phase(p)
	}
}

// Hash returns the key of a step with these arguments, and the conditions of its results.
func (b *Bench) Hash(t testing.TB, values map[string]cty.Value) (*digest.Hasher, []string) {
	t.Helper()
	args, _, err := b.Kind.Settle(b.Args(t, values))
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Kind.New(args)
	if err != nil {
		t.Fatal(err)
	}
	h, err := step.Key(b.Kind, args, s)
	if err != nil {
		t.Fatal(err)
	}
	return h, step.Conditions(args, s)
}

// Key returns the key's fields for a step with these arguments.
func (b *Bench) Key(t testing.TB, values map[string]cty.Value) map[string]string {
	t.Helper()
	h, _ := b.Hash(t, values)
	fields := map[string]string{}
	for _, f := range h.Fields() {
		fields[f.Label] = f.Value
	}
	return fields
}

// Log returns the steps' log so far.
func (b *Bench) Log() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

// Warnings returns the steps' warnings so far.
func (b *Bench) Warnings() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.warnings
}

// Resumes returns how often the last attempt that said so went on from a checkpoint.
func (b *Bench) Resumes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.resumes
}

// SecretIn returns the outputs of the last result that have a secret.
func (b *Bench) SecretIn() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.secretIn
}

// Steered returns how the last result says that its attempt was steered.
func (b *Bench) Steered() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.steered
}

// Provisional returns the reason why the last result was not final, as "cause: why", or
// "" if it was final.
func (b *Bench) Provisional() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

type lockedWriter struct{ b *Bench }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	return w.b.log.Write(p)
}

// Artifact returns a reference to stored content as an argument.
func Artifact(ref cache.Ref) cty.Value {
	return step.NewArtifact(&step.Artifact{From: "step.test.input", Output: "tree", Ref: ref})
}

// Blob stores a string and returns it as an argument.
func (b *Bench) Blob(t testing.TB, text string) cty.Value {
	t.Helper()
	ref, err := cache.PutBytes(t.Context(), b.Store, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Artifact(ref)
}

// Tree stores files by path and returns the tree as an argument.
func (b *Bench) Tree(t testing.TB, files map[string]string) cty.Value {
	t.Helper()
	return Artifact(b.treeRef(t, files))
}

// treeRef stores files by path and returns the tree.
func (b *Bench) treeRef(t testing.TB, files map[string]string) cache.Ref {
	t.Helper()
	var tb tree.Builder
	for path, text := range files {
		ref, err := cache.PutBytes(t.Context(), b.Store, []byte(text))
		if err == nil {
			err = tb.Add(path, ref, false)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ref, err := tb.Build(t.Context(), b.Store)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// Files reads a tree back, by path. Empty folders are included, with a slash at
// the end.
func (b *Bench) Files(t testing.TB, ref cache.Ref) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := tree.Walk(t.Context(), b.Store, ref, func(path string, e tree.Entry) error {
		if e.IsDir() {
			if e.Files == 0 {
				files[path+"/"] = ""
			}
			return nil
		}
		files[path] = b.Text(t, e.Ref())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Text reads a blob back.
func (b *Bench) Text(t testing.TB, ref cache.Ref) string {
	t.Helper()
	r, err := b.Store.Open(t.Context(), ref.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Decode reads a small output into dst.
func Decode(t testing.TB, v cache.Value, dst any) {
	t.Helper()
	if err := json.Unmarshal(v.JSON, dst); err != nil {
		t.Fatal(err)
	}
}
