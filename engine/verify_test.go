package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/step"
)

// verdicts verifies the newest run of a pipeline.
func (r *rig) verdicts(src string, o engine.VerifyOptions) map[string]engine.Verified {
	r.t.Helper()
	past, err := r.history.Find("latest")
	if err != nil {
		r.t.Fatal(err)
	}
	sum, err := past.Summary()
	if err != nil {
		r.t.Fatal(err)
	}
	list, diags := r.engine().Verify(context.Background(), r.program(src), sum, o)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	found := map[string]engine.Verified{}
	for _, v := range list {
		found[v.Address] = v
	}
	return found
}

func shown(verified map[string]engine.Verified) map[string]engine.Verdict {
	m := map[string]engine.Verdict{}
	for a, v := range verified {
		m[a] = v.Verdict
	}
	return m
}

// TestVerify does a good run again: what is fixed is the same, what varies is
// read, and nothing is recorded.
func TestVerify(t *testing.T) {
	r := newGamble(t)
	r.apply(context.Background(), gamble, engine.ApplyOptions{})
	ran := len(r.rec.Ran())
	want := map[string]engine.Verdict{
		"step.mix.table": engine.Same, "step.dice.throw": engine.Intact, "step.mix.score": engine.Same,
		"step.mix.told": engine.Same, "step.mix.board": engine.Same,
	}
	if diff := cmp.Diff(want, shown(r.verdicts(gamble, engine.VerifyOptions{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := len(r.rec.Ran()); ran != 4 || again != 4 {
		t.Errorf("%d steps ran, %d again", ran, again)
	}
	only := r.verdicts(gamble, engine.VerifyOptions{Selected: func(kind string) bool { return kind == "dice" }})
	if len(only) != 1 {
		t.Errorf("selected: %v", only)
	}
}

// TestVerifyFinds plants what a verification has to find.
func TestVerifyFinds(t *testing.T) {
	ctx := context.Background()
	plant := map[string]struct {
		plant   func(r *rig, id digest.ActionID, rec *cache.Record)
		address string
		want    engine.Verdict
		text    string
	}{
		"another output": {func(r *rig, _ digest.ActionID, rec *cache.Record) {
			ref, _ := cache.PutBytes(ctx, r.cache, []byte("forged"))
			rec.Outputs = cache.Outputs{"content": {Ref: ref}, "value": rec.Outputs["value"]}
			if err := r.cache.Record(ctx, rec); err != nil {
				t.Fatal(err)
			}
		}, "step.mix.table", engine.Differs, "output content"},
		"evicted": {func(r *rig, id digest.ActionID, _ *cache.Record) { r.cache.Evict(id, "test") }, "step.mix.table", engine.Missing, "no longer"},
		"fails": {func(r *rig, _ digest.ActionID, _ *cache.Record) {
			r.rec.Fail["step.mix.table"] = step.Retryable(context.DeadlineExceeded, 0)
		}, "step.mix.table", engine.Broken, "deadline"},
	}
	for name, tt := range plant {
		t.Run(name, func(t *testing.T) {
			r := newGamble(t)
			r.apply(ctx, gamble, engine.ApplyOptions{})
			id := pins(r.lock(gamble, engine.LockOptions{}), tt.address).Action
			rec, err := r.cache.Lookup(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			copied := *rec
			tt.plant(r, id, &copied)
			got := r.verdicts(gamble, engine.VerifyOptions{})[tt.address]
			text := got.Error
			for _, d := range got.Deviations {
				text += d.String()
			}
			if got.Verdict != tt.want || !strings.Contains(text, tt.text) || got.Verdict.Good() {
				t.Errorf("%+v, want %s with %q", got, tt.want, tt.text)
			}
		})
	}
}

// TestVerifyEdited finds that the pipeline is another than that of the run, and
// that a run did not get to all of it.
func TestVerifyEdited(t *testing.T) {
	r := newGamble(t)
	r.rec.Fail["step.mix.score"] = context.DeadlineExceeded
	r.apply(context.Background(), gamble, engine.ApplyOptions{KeepGoing: true})
	delete(r.rec.Fail, "step.mix.score")
	got := r.verdicts(strings.Replace(gamble, `"oak"`, `"elm"`, 1), engine.VerifyOptions{})
	want := map[string]engine.Verdict{
		"step.mix.table": engine.Differs, "step.dice.throw": engine.Intact, "step.mix.score": engine.Unrun,
		"step.mix.told": engine.Same, "step.mix.board": engine.Unrun,
	}
	if diff := cmp.Diff(want, shown(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d := got["step.mix.table"].Deviations; len(d) < 2 || d[0].String() != "step.mix.table: text is elm; the lock has oak" {
		t.Errorf("%v", d)
	}
}
