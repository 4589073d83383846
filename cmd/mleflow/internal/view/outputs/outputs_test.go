package outputs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
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
	run := &history.Summary{}
	p := &plan.Plan{}
	for n, made := range []struct {
		kind    string
		outputs cache.Outputs
	}{
		{"download", cache.Outputs{"files": {Ref: folder}}},
		{"agent-run", cache.Outputs{"submission": {Ref: folder}, "outcome": {JSON: json.RawMessage(`"submitted"`)}}},
		{"grade", cache.Outputs{"report": {Ref: blob("{}")}}},
	} {
		id := digest.ActionID{byte(n)}
		if err := s.Record(t.Context(), &cache.Record{Action: id, Address: made.kind, Kind: made.kind, Outputs: made.outputs}); err != nil {
			t.Fatal(err)
		}
		run.Steps = append(run.Steps, history.StepSummary{StepFinished: event.StepFinished{Address: made.kind, Kind: made.kind, Action: id.String()}})
		p.Steps = append(p.Steps, plan.Step{Name: made.kind, Kind: made.kind})
	}
	src := &outputs.Source{Store: s, Index: s, Run: run, Kinds: step.NewRegistry()}
	work := new(progress.Work)
	if _, err := src.All(t.Context(), p, t.TempDir(), outputs.Options{Work: work}); err != nil {
		t.Fatal(err)
	}
	if got, want := work.Now(), (progress.State{Files: 3, TotalFiles: 3, Bytes: 10, TotalBytes: 10}); got != want {
		t.Errorf("all: counted %+v, want %+v", got, want)
	}
	if _, err := src.Get(t.Context(), "agent-run", "", t.TempDir(), outputs.Options{Work: work}); err != nil {
		t.Fatal(err)
	}
	if got, want := work.Now(), (progress.State{Files: 2, TotalFiles: 2, Bytes: 8, TotalBytes: 8}); got != want {
		t.Errorf("one step: counted %+v, want %+v", got, want)
	}
}

// TestGetPrivate copies and links outputs that may hold answers: others cannot read them.
func TestGetPrivate(t *testing.T) {
	s := memory.New()
	ref, err := cache.PutBytes(t.Context(), s, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := tree.Put(t.Context(), s, []tree.Entry{tree.NewEntry("a", ref, false)})
	if err != nil {
		t.Fatal(err)
	}
	kind := func(k step.Kind) step.Kind {
		k.Version, k.New = "1", func(step.Args) (step.Step, error) { return nil, nil }
		k.Outputs = []step.Output{{Name: "blob", Secrecy: k.Outputs[0].Secrecy}, {Name: "tree", Secrecy: k.Outputs[0].Secrecy}, {Name: "value", Secrecy: k.Outputs[0].Secrecy}}
		return k
	}
	of := func(s step.Secrecy) []step.Output { return []step.Output{{Secrecy: s}} }
	kinds := step.NewRegistry(
		kind(step.Kind{Name: "private", Outputs: of(step.Private)}), kind(step.Kind{Name: "inherit", Outputs: of(step.Inherit)}),
		kind(step.Kind{Name: "public", Outputs: of(step.Public)}), kind(step.Kind{Name: "withheld", Outputs: of(step.Withheld)}),
		kind(step.Kind{Name: "results", Outputs: of(step.Inherit), Results: true}), kind(step.Kind{Name: "agents", Outputs: of(step.Inherit), Untrusted: true}))
	hidden := []string{"private", "inherit", "unknown"}
	run := &history.Summary{}
	src := &outputs.Source{Store: s, Index: s, Run: run, Kinds: kinds}
	for n, name := range append(hidden, "public", "withheld", "results", "agents") {
		id := digest.ActionID{byte(n + 1)}
		made := cache.Outputs{"blob": {Ref: ref}, "tree": {Ref: folder}, "value": {JSON: json.RawMessage(`1`)}}
		if err := s.Record(t.Context(), &cache.Record{Action: id, Address: name, Kind: name, Outputs: made}); err != nil {
			t.Fatal(err)
		}
		run.Steps = append(run.Steps, history.StepSummary{StepFinished: event.StepFinished{Address: name, Kind: name, Action: id.String()}})
		for _, link := range []bool{false, true} {
			dir := t.TempDir()
			paths, err := src.Get(t.Context(), name, "", dir, outputs.Options{Link: link})
			if err != nil || len(paths) != 3 {
				t.Fatal(paths, err)
			}
			for _, path := range paths {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if closed := info.Mode().Perm()&0o077 == 0; closed != slices.Contains(hidden, name) {
					t.Errorf("%s (link=%v): %s has mode %v", name, link, path, info.Mode())
				}
				if info.IsDir() {
					_ = os.Chmod(path, 0o700) // so that it can be removed
				}
			}
		}
	}
}

// TestMedals has the attempts whose medal differs between two runs that graded both.
func TestMedals(t *testing.T) {
	run := func(id string, medals ...string) *outputs.Source {
		sum := &history.Summary{}
		sum.ID = id
		for i, medal := range medals {
			s := history.StepSummary{StepFinished: event.StepFinished{Address: fmt.Sprintf("step.grade.score[%q]", fmt.Sprint(i)), Kind: "grade", Status: event.Ran, Outputs: map[string]string{"medal": medal, "score": "0.5"}}}
			if medal == "" {
				s.Status, s.Outputs = event.Failed, nil
			}
			sum.Steps = append(sum.Steps, s)
		}
		return &outputs.Source{Run: sum}
	}
	d, err := outputs.Diff(t.Context(), run("1", `"none"`, `"gold"`, `"gold"`, `"silver"`, ""), run("2", `"bronze"`, `"silver"`, `"gold"`, "", `"gold"`), false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]outputs.Change{{{Name: "0", Was: "none", Is: "bronze"}}, {{Name: "1", Was: "gold", Is: "silver"}}}, [][]outputs.Change{d.MedalsWon, d.MedalsLost}); diff != "" {
		t.Error(diff)
	}
}
