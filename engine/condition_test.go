package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// field is a kind whose instances give the same whatever the weather, which is
// a condition of what they give, and say what they consumed.
func field() step.Kind {
	return step.Kind{
		Name: "field", Version: "1",
		Args: []step.Attr{
			{Name: "weather", Type: cty.String, Cosmetic: true},
			{Name: "from", Type: step.ArtifactType},
		},
		Outputs: []step.Output{{Name: "content", Type: step.ArtifactType}, {Name: "value", Type: cty.String}},
		New: func(args step.Args) (step.Step, error) {
			f := &harvest{consumed: args.Conditions}
			return f, args.Decode(&f.args)
		},
	}
}

type harvest struct {
	args struct {
		Weather *string        `cty:"weather"`
		On      *step.Artifact `cty:"from"`
	}
	consumed []string
}

// Conditions implements step.Conditioned.
func (h *harvest) Conditions() []string {
	if h.args.Weather == nil {
		return nil
	}
	return []string{"weather=" + *h.args.Weather}
}

// Run implements step.Step.
func (h *harvest) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	ref, err := cache.PutBytes(ctx, env.Store, []byte("wheat"))
	return cache.Outputs{"content": {Ref: ref}, "value": {JSON: []byte(`"` + strings.Join(h.consumed, " ") + `"`)}}, err
}

// farm has two fields whose content is the same bytes, and what others make of
// it: by content, by a small value, through a step that knows of no conditions,
// together, and in the order of running only.
const farm = `
step "field" "wet" { weather = "rain" }
step "field" "dry" { weather = "sun" }
step "mix" "flour" {
  text   = "flour"
  inputs = [step.field.wet.content]
}
step "mix" "told" { text = "harvest: ${step.field.wet.value}" }
step "mix" "blend" {
  text   = "blend"
  inputs = [step.mix.flour.content, step.field.dry.content]
}
step "mix" "alone" { text = "alone" }
step "mix" "later" {
  text       = "later"
  depends_on = [step.field.wet]
}
step "field" "again" { from = step.mix.blend.content }
`

var farmConditions = map[string][]string{
	"step.field.wet": {"weather=rain"}, "step.field.dry": {"weather=sun"},
	"step.mix.flour": {"weather=rain"}, "step.mix.told": {"weather=rain"},
	"step.mix.blend": {"weather=rain", "weather=sun"}, "step.field.again": {"weather=rain", "weather=sun"},
	"step.mix.alone": nil, "step.mix.later": nil,
}

func newFarm(t *testing.T) *rig {
	r := newRig(t)
	r.more = []step.Kind{field()}
	return r
}

// TestConditionsTravel sees them at every place where a result is told of: in
// the plan before anything ran, in the events, in the key and with the step that
// consumes them.
func TestConditionsTravel(t *testing.T) {
	ctx := context.Background()
	r := newFarm(t)
	for name, when := range map[string]func(){"fresh": func() {}, "cached": func() { r.apply(ctx, farm, engine.ApplyOptions{}) }} {
		when()
		planned := map[string][]string{}
		for _, s := range r.plan(farm, engine.PlanOptions{}).Steps {
			planned[s.Name] = s.Conditions
		}
		if diff := cmp.Diff(farmConditions, planned); diff != "" {
			t.Errorf("plan, %s (-want +got):\n%s", name, diff)
		}
	}
	for range 2 { // made, then cached
		r.events = nil
		r.apply(ctx, farm, engine.ApplyOptions{})
		told := map[string][]string{}
		for _, e := range r.events {
			if f, ok := e.(event.StepFinished); ok {
				told[f.Address] = f.Conditions
				id, err := digest.ParseActionID(f.Action)
				if err != nil {
					t.Fatal(err)
				}
				rec, err := r.cache.Lookup(ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(f.Conditions, step.RecordedConditions(rec.Fields, rec.Tries)); diff != "" {
					t.Errorf("record of %s (-event +record):\n%s", f.Address, diff)
				}
				if got := string(rec.Outputs["value"].JSON); f.Address == "step.field.again" && got != `"weather=rain weather=sun"` {
					t.Errorf("the step was told that it consumes %s", got)
				}
			}
		}
		if diff := cmp.Diff(farmConditions, told); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
}

// TestConditionsAreInTheKey sees that the same bytes under other conditions are
// another input, and that nothing changes where there are none.
func TestConditionsAreInTheKey(t *testing.T) {
	ctx := context.Background()
	r := newFarm(t)
	r.apply(ctx, farm, engine.ApplyOptions{})
	changed := strings.Replace(farm, `weather = "rain"`, `weather = "hail"`, 1)
	again := map[string]string{}
	for _, s := range r.plan(changed, engine.PlanOptions{}).Steps {
		if len(s.Reasons) > 0 {
			again[s.Name] = s.Reasons[0].Text
		}
	}
	for _, address := range []string{"step.field.dry", "step.mix.alone"} {
		if why, ok := again[address]; ok {
			t.Errorf("%s would run: %s", address, why)
		}
	}
	if got := again["step.field.wet"]; got != "condition.weather changed from rain to hail" {
		t.Errorf("reason: %q", got)
	}
	r.rec.Ran()
	r.apply(ctx, changed, engine.ApplyOptions{})
	want := []string{"step.mix.blend", "step.mix.flour", "step.mix.told"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(r.rec.Ran()))); diff != "" {
		t.Errorf("ran for other conditions of the same bytes (-want +got):\n%s", diff)
	}
}

// TestVerifyFindsLaunderedConditions plants records that say nothing of the
// conditions, or other ones.
func TestVerifyFindsLaunderedConditions(t *testing.T) {
	ctx := context.Background()
	for name, forged := range map[string][]digest.Field{"dropped": nil, "changed": {{Label: "condition.weather", Value: "sun"}}} {
		t.Run(name, func(t *testing.T) {
			r := newFarm(t)
			r.apply(ctx, farm, engine.ApplyOptions{})
			for _, e := range r.events {
				f, ok := e.(event.StepFinished)
				if !ok || f.Address != "step.field.wet" {
					continue
				}
				id, _ := digest.ParseActionID(f.Action)
				rec, err := r.cache.Lookup(ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				copied := *rec
				copied.Fields = append(append([]digest.Field{}, rec.Fields[:2]...), forged...)
				if err := r.cache.Record(ctx, &copied); err != nil {
					t.Fatal(err)
				}
			}
			v := r.verdicts(farm, engine.VerifyOptions{})
			if got := v["step.field.wet"]; got.Verdict != engine.Differs || len(got.Deviations) != 1 || got.Deviations[0].Field != "condition.weather" {
				t.Errorf("the forged record: %+v", got)
			}
			if got := v["step.mix.flour"]; got.Verdict != engine.Differs {
				t.Errorf("what was made of it: %+v", got)
			}
		})
	}
}

// TestLockHasConditions sees that a lock pins conditions even where what they
// belong to varies.
func TestLockHasConditions(t *testing.T) {
	r := newFarm(t)
	r.more[0].Varies = true
	r.apply(context.Background(), farm, engine.ApplyOptions{})
	f := r.lock(farm, engine.LockOptions{})
	for address, want := range map[string]string{"step.field.wet": "rain", "step.mix.told": "rain", "step.mix.blend": "rain, sun", "step.mix.alone": ""} {
		if got := pins(f, address).Inputs["condition.weather"]; got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
