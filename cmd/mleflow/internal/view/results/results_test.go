package results_test

import (
	"encoding/json"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/engine/plan"
)

// TestWork takes a run out, and sees that all files are counted that are written.
func TestWork(t *testing.T) {
	s := memory.New()
	blob := func(text string) cache.Ref {
		ref, err := cache.PutBytes(t.Context(), s, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	folder, err := tree.Put(t.Context(), s, []tree.Entry{tree.NewEntry("a", blob("one"), false), tree.NewEntry("b", blob("three"), false)})
	if err != nil {
		t.Fatal(err)
	}
	run := &ledger.Summary{}
	p := &plan.Plan{}
	for n, step := range []struct {
		kind    string
		outputs cache.Outputs
	}{
		{"download", cache.Outputs{"files": {Ref: folder}}},
		{"agent-run", cache.Outputs{"submission": {Ref: folder}, "outcome": {JSON: json.RawMessage(`"submitted"`)}}},
		{"grade", cache.Outputs{"report": {Ref: blob("{}")}}},
	} {
		id := digest.ActionID{byte(n)}
		if err := s.Record(t.Context(), &cache.Record{Action: id, Address: step.kind, Kind: step.kind, Outputs: step.outputs}); err != nil {
			t.Fatal(err)
		}
		run.Steps = append(run.Steps, ledger.StepSummary{Address: step.kind, Kind: step.kind, Action: id.String()})
		p.Steps = append(p.Steps, plan.Step{Name: step.kind, Kind: step.kind})
	}
	src := &results.Source{Store: s, Index: s, Run: run}
	work := new(progress.Work)
	if _, err := src.All(t.Context(), p, t.TempDir(), results.Options{Work: work}); err != nil {
		t.Fatal(err)
	}
	if got, want := work.Now(), (progress.State{Files: 3, TotalFiles: 3, Bytes: 10, TotalBytes: 10}); got != want {
		t.Errorf("all: counted %+v, want %+v", got, want)
	}
	if _, err := src.Get(t.Context(), "agent-run", "", t.TempDir(), results.Options{Work: work}); err != nil {
		t.Fatal(err)
	}
	if got, want := work.Now(), (progress.State{Files: 2, TotalFiles: 2, Bytes: 8, TotalBytes: 8}); got != want {
		t.Errorf("one step: counted %+v, want %+v", got, want)
	}
}
