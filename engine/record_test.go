package engine_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

// damages are what another version or another's remote cache may record for a mix, and
// what a plan says of it.
var damages = map[string]struct {
	damage func(cache.Outputs)
	says   string
}{
	"without a value":   {func(o cache.Outputs) { delete(o, "value") }, `it has no output "value"`},
	"without content":   {func(o cache.Outputs) { delete(o, "content") }, `it has no output "content"`},
	"empty content":     {func(o cache.Outputs) { o["content"] = cache.Value{} }, `its output "content" has no content`},
	"content is JSON":   {func(o cache.Outputs) { o["content"] = cache.Value{JSON: []byte("1")} }, `its output "content" has no content`},
	"unknown content":   {func(o cache.Outputs) { o["content"] = cache.Value{Ref: cache.Ref{ID: o["content"].Ref.ID, Kind: "x"}} }, `its output "content" has no content`},
	"value is content":  {func(o cache.Outputs) { o["value"] = o["content"] }, `its output "value" is not of type string`},
	"value is empty":    {func(o cache.Outputs) { o["value"] = cache.Value{} }, `its output "value" is not of type string`},
	"value is a number": {func(o cache.Outputs) { o["value"] = cache.Value{JSON: []byte("1")} }, `its output "value" is not of type string`},
	"value is a list":   {func(o cache.Outputs) { o["value"] = cache.Value{JSON: []byte(` ["a"]`)} }, `its output "value" is not of type string`},
	"value is not JSON": {func(o cache.Outputs) { o["value"] = cache.Value{JSON: []byte(`"{`)} }, `its output "value" is not of type string`},
	"another output":    {func(o cache.Outputs) { o["other"] = o["content"] }, `it has an output "other", which steps of kind mix do not have`},
}

const twoMixes = `
step "mix" "first" { text = "first#%" }
step "mix" "a" {
  text   = "a"
  inputs = [step.mix.first.content]
}
step "mix" "b" { text = "b ${step.mix.a.value == null ? "null" : "a"}" }
output "a" { value = step.mix.a.value }
output "b" { value = step.mix.b.value }
`

// remote is a remote cache to which others write.
type remote struct {
	local cache.Cache
	recs  map[digest.ActionID]*cache.Record
}

func (c *remote) Find(ctx context.Context, ids []digest.ActionID) []*cache.Record {
	found := make([]*cache.Record, len(ids))
	for i, id := range ids {
		if rec, err := c.local.Lookup(ctx, id); err == nil {
			found[i] = rec
		} else {
			found[i] = c.recs[id]
		}
	}
	return found
}

func (c *remote) Fetch(ctx context.Context, recs []*cache.Record) (lost []digest.ActionID) {
	for _, rec := range recs {
		if c.local.Record(ctx, rec) != nil {
			lost = append(lost, rec.Action)
		}
	}
	return lost
}

// TestWrongRecordIsAMiss: a record without an output that the kind declares, or with one
// of another type, is no result, wherever it is and whoever reads it.
func TestWrongRecordIsAMiss(t *testing.T) {
	ctx := context.Background()
	src, again := strings.ReplaceAll(twoMixes, "%", "1"), strings.ReplaceAll(twoMixes, "%", "2")
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			want := r.apply(ctx, src, engine.ApplyOptions{})
			id, good := r.recordOf(src, "step.mix.a")
			bad := *good
			bad.Outputs = maps.Clone(good.Outputs)
			d.damage(bad.Outputs)
			plant := func() {
				if err := r.cache.Record(ctx, &bad); err != nil {
					t.Fatal(err)
				}
				r.rec.Ran()
			}
			plant()
			if got := r.verdicts(src, engine.VerifyOptions{})["step.mix.a"]; got.Verdict != engine.Differs {
				t.Errorf("verify: %+v", got)
			}
			if x := r.plan(src, engine.PlanOptions{}).Steps[1]; x.Action != plan.Run || x.Reasons[0].Text != "runs again: its earlier result cannot be used: "+d.says {
				t.Errorf("plan: %s: %+v", x.Action, x.Reasons)
			}
			if x, diags := r.engine().Explain(ctx, r.program(src), addressOf(t, "step.mix.a")[0]); diags.HasErrors() || !strings.Contains(x.Plan.Reasons[0].Text, d.says) {
				t.Errorf("explain: %v %+v", diags, x)
			}
			r.rec.Ran()
			check := func(what string, res *engine.Result, ran string) {
				t.Helper()
				if got := strings.Join(r.rec.Ran(), " "); res.Status != event.Ran || got != ran || res.Outputs[0] != want.Outputs[0] || res.Outputs[1] != want.Outputs[1] {
					t.Errorf("%s: %s, ran %q, want %q, outputs %v, want %v", what, res.Status, got, ran, res.Outputs, want.Outputs)
				}
			}
			check("apply", r.apply(ctx, src, engine.ApplyOptions{}), "step.mix.a")
			plant()
			check("apply, decided late", r.apply(ctx, again, engine.ApplyOptions{}), "step.mix.first step.mix.a")
			for _, src := range []string{src, again} {
				r.cache.Evict(id, "test")
				r.rec.Ran()
				far := &remote{r.cache, map[digest.ActionID]*cache.Record{id: &bad}}
				r.remote = far
				check("remote", r.apply(ctx, src, engine.ApplyOptions{PlanOptions: engine.PlanOptions{Force: addressOf(t, "step.mix.first")}}), "step.mix.first step.mix.a")
				r.cache.Evict(id, "test")
				check("remote, planned", r.apply(ctx, src, engine.ApplyOptions{}), "step.mix.a")
			}
		})
	}
}

// recordOf returns the record of a step whose key is known.
func (r *rig) recordOf(src, address string) (digest.ActionID, *cache.Record) {
	r.t.Helper()
	for _, s := range r.plan(src, engine.PlanOptions{}).Steps {
		if s.Name != address {
			continue
		}
		id, err := digest.ParseActionID(s.ActionID)
		if err != nil {
			r.t.Fatal(err)
		}
		rec, err := r.cache.Lookup(context.Background(), id)
		if err != nil {
			r.t.Fatal(err)
		}
		return id, rec
	}
	r.t.Fatalf("there is no %s", address)
	return digest.ActionID{}, nil
}
