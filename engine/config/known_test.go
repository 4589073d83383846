package config

import (
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/step"
)

const twoReaders = `
step "source" "raw" { id = "a" }
step "split" "data" { raw = step.source.raw.tree }
step "board" "b" { note = "n ${local.count}" }
locals { count = step.source.raw.count }
`

var rawOutputs = cache.Outputs{"tree": {Ref: cache.Ref{Kind: cache.Tree, ID: digest.Of(nil)}}, "count": {JSON: []byte("7")}}

// Arguments do not change after they were returned, so that a key is never that of half
// an output: others may set outputs at any time.
func TestArgumentsAreASnapshot(t *testing.T) {
	g, diags := load(t, twoReaders, Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	const raw, data = 0, 1
	early, _ := g.Args(data)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			g.SetOutputs(raw, rawOutputs)
			g.SetConditions(raw, []string{"weather=sun"})
			g.Expect(raw, 7)
		})
		group.Go(func() {
			for _, args := range []step.Args{early, argsNow(t, g, data)} {
				a := artifactOf(args.Get("raw"))
				if !a.Ref.IsZero() && a.Ref != rawOutputs["tree"].Ref {
					t.Errorf("half an output: %+v", a.Ref)
				}
			}
		})
	}
	group.Wait()
	if a := artifactOf(early.Get("raw")); !a.Ref.IsZero() || a.Conditions != nil || a.Expected != 0 {
		t.Errorf("arguments changed after they were returned: %+v", a)
	}
	if a := artifactOf(argsNow(t, g, data).Get("raw")); a.Ref != rawOutputs["tree"].Ref || len(a.Conditions) != 1 || a.Expected != 7 {
		t.Errorf("what is known is not in the arguments: %+v", a)
	}
}

// A fresh graph knows nothing that the other does, whatever was set, evaluated or held.
func TestFreshKnowsNothing(t *testing.T) {
	g, diags := load(t, twoReaders, Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	const raw, data, board = 0, 1, 2
	g.SetOutputs(raw, rawOutputs)
	g.SetConditions(raw, []string{"weather=sun"})
	if note := argsNow(t, g, board).Get("note"); !note.RawEquals(cty.StringVal("n 7")) {
		t.Fatalf("note is %#v", note)
	}
	if diags := g.Hold([]int{raw, data}); diags.HasErrors() {
		t.Fatal(diags)
	}
	own := g.Fresh()
	if own.Outputs(raw) != nil || own.Conditions(raw) != nil || len(own.Consumed(data)) > 0 {
		t.Errorf("the outputs %v and conditions %v are known", own.Outputs(raw), own.Conditions(raw))
	}
	if len(own.Instances[board].Deps) != 1 {
		t.Errorf("%s depends on %d, want 1", own.Instances[board].Addr, len(own.Instances[board].Deps))
	}
	if a := artifactOf(argsNow(t, own, data).Get("raw")); !a.Ref.IsZero() {
		t.Errorf("content is known: %+v", a)
	}
	if note := argsNow(t, own, board).Get("note"); note.IsKnown() {
		t.Errorf("note is %#v", note)
	}
	if g.Outputs(raw) == nil || len(g.Instances[board].Deps) != 0 {
		t.Error("the first graph forgot")
	}
}

// argsNow returns the arguments of an instance with what is known.
func argsNow(t *testing.T, g *Graph, i int) step.Args {
	t.Helper()
	args, diags := g.Args(i)
	if diags.HasErrors() {
		t.Error(diags)
	}
	return args
}
