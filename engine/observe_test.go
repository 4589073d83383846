package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/enginetest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// observer is a machine with a program of some version that has a kind "look", whose
// results are observations, and a kind "cook", which makes what they look at.
type observer struct {
	*rig
	// version is that of kind "look". From version 2 on its keys record the weather.
	version string
	// notes is what the program tells every observer, cook the version of kind "cook",
	// glass what the machine chooses, and lacksPlate that it cannot tell the plate.
	notes, cook, glass string
	// tape is a text of the program that makes no difference.
	tape       string
	lacksPlate bool
	looked     int
}

func newObserver(t *testing.T) *observer {
	return &observer{rig: newRig(t), version: "1", notes: "n", cook: "1", glass: "big"}
}

type look struct {
	o    *observer
	args struct {
		Subject string         `cty:"subject"`
		Seed    string         `cty:"seed"`
		Tool    string         `cty:"tool"`
		Glass   string         `cty:"glass"`
		At      *step.Artifact `cty:"at"`
	}
}

func (l *look) Fingerprint(h *digest.Hasher) error {
	h.String("notes", l.o.notes)
	h.String("tape", l.o.tape)
	if l.o.lacksPlate {
		return context.DeadlineExceeded
	}
	h.String("plate digest", "p")
	return nil
}

func (l *look) Conditions() []string {
	if l.o.version == "1" {
		return nil
	}
	return []string{"weather=fine"}
}

func (l *look) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	l.o.looked++
	ref, err := cache.PutBytes(ctx, env.Store, []byte("seen"))
	return cache.Outputs{"seen": {Ref: ref}}, err
}

// use installs the kinds of the observer's program.
func (o *observer) use() {
	two, earlier := 2.0, []step.Earlier{{Version: "1", Lacks: []string{"condition.weather"}}}
	if o.version == "3" {
		earlier = nil
	}
	o.more = []step.Kind{enginetest.Mix("cook", o.cook, o.rec), {
		Name: "look", Version: o.version, Varies: true,
		Observation: &step.Observation{
			Names: []string{"subject", "seed"}, Earlier: earlier,
			Program: func(label string) bool { return label == "tape" },
			Cost:    func(cache.Outputs) *float64 { return &two },
		},
		Args: []step.Attr{
			{Name: "subject", Type: cty.String, Required: true}, {Name: "seed", Type: cty.String, Required: true}, {Name: "tool", Type: cty.String, Default: cty.StringVal("a")},
			{Name: "glass", Type: cty.String, Default: cty.StringVal("auto"), Open: "auto", OneOf: []string{"auto", "big", "small"}},
			{Name: "at", Type: step.ArtifactType},
		},
		Outputs: []step.Output{{Name: "seen", Type: step.ArtifactType}},
		Choose: func(step.Args) ([]step.Choice, error) {
			return []step.Choice{{Arg: "glass", Value: o.glass, Why: "it is here"}}, nil
		},
		New: func(args step.Args) (step.Step, error) {
			l := &look{o: o}
			return l, args.Decode(&l.args)
		},
	}}
}

const table = `
step "cook" "meal" { text = "meal" }
step "look" "first" {
  subject = "meal"
  seed    = "0"
  at      = step.cook.meal.content
}
step "mix" "told" {
  text   = "told"
  inputs = [step.look.first.seen]
}
`

func edited(was, is string) string {
	if was == "" {
		return table
	}
	return strings.ReplaceAll(table, was, is)
}

// tried applies a pipeline, and returns how often was looked and what refused it: before
// anything ran, or a step.
func (o *observer) tried(src string, opts engine.ApplyOptions) (looked int, refused string) {
	o.t.Helper()
	o.use()
	before := o.looked
	opts.Sink = event.SinkFunc(func(e event.Event) { o.events = append(o.events, e) })
	res, diags := o.engine().Apply(context.Background(), o.program(src), opts)
	if diags.HasErrors() {
		return o.looked - before, diags.Error()
	}
	for _, f := range res.Failures {
		refused += f.Address + ": " + f.Err.Error()
	}
	return o.looked - before, refused
}

// moveAway makes all records those of a remote cache. The content is here.
func (o *observer) moveAway() {
	ctx, here, far := context.Background(), memory.New(), map[digest.ActionID]*cache.Record{}
	err := o.cache.Each(ctx, func(rec *cache.Record) error {
		far[rec.Action] = rec
		for ref := range rec.Outputs.Refs() {
			data, err := cache.Get(ctx, o.cache, ref.ID, 1<<20)
			if err != nil {
				return err
			}
			if _, err := cache.PutBytes(ctx, here, data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.cache, o.remote = here, &remote{local: here, recs: far}
}

// TestEarlierVersion: a result of an older version of the kind is used, with the
// conditions that it records, in this cache and in one that is far away.
func TestEarlierVersion(t *testing.T) {
	for _, far := range []bool{false, true} {
		o := newObserver(t)
		o.tried(table, engine.ApplyOptions{})
		if far {
			o.moveAway()
		}
		o.version = "2"
		if !far {
			o.tape = "new"
		}
		if looked, refused := o.tried(table, engine.ApplyOptions{}); looked != 0 || refused != "" {
			t.Fatalf("far %v: looked %d times; %s", far, looked, refused)
		}
		s := o.plan(table, engine.PlanOptions{Preflight: event.SinkFunc(func(event.Event) {})}).Steps[1]
		want := &plan.Observed{Version: "1", NotRecorded: []string{"condition.weather"}}
		if !far {
			want.Differs = []plan.Reason{{Field: "tape", From: "", To: "new", Text: `tape changed from "" to new`}}
		}
		if diff := cmp.Diff(want, s.Observed); diff != "" || s.Action != plan.Cached || len(s.Conditions) != 0 {
			t.Errorf("far %v: %s, conditions %v\n%s", far, s.Action, s.Conditions, diff)
		}
		if !strings.HasPrefix(s.Observed.String(), "by version 1; not recorded: weather") {
			t.Errorf("said: %s", s.Observed)
		}
		for address, v := range o.verdicts(table, engine.VerifyOptions{}) {
			if !far && !v.Verdict.Good() {
				t.Errorf("%s: %+v", address, v)
			}
		}
		if more, _ := o.tried(strings.Replace(table, `"0"`, `"1"`, 1), engine.ApplyOptions{}); more != 1 {
			t.Errorf("another seed looked %d times", more)
		}
	}
}

// TestRepeats: a result is repeated without a word only if a person changed something.
func TestRepeats(t *testing.T) {
	force := engine.PlanOptions{Force: []addr.Instance{{Step: addr.Step{Kind: "look", Name: "first"}}}}
	cooked := engine.PlanOptions{Force: []addr.Instance{{Step: addr.Step{Kind: "cook", Name: "meal"}}}}
	const refusal = "would repeat 1 result: 0s, 2.00 USD"
	for _, tt := range []struct {
		name    string
		change  func(*observer)
		was, is string // an edit of the pipeline
		opts    engine.PlanOptions
		refused string
	}{
		{name: "other notes of the program", change: func(o *observer) { o.notes = "m" }, refused: refusal},
		{name: "other choice of the machine", change: func(o *observer) { o.glass = "small" }, refused: refusal},
		{name: "a version that cannot be read", change: func(o *observer) { o.version = "3" }, refused: refusal},
		{name: "input made by a newer program", change: func(o *observer) { o.cook = "2" }, refused: "step.look.first: " + refusal},
		{name: "at another place", was: "first", is: "second", change: func(o *observer) { o.notes = "m" }, refused: refusal},
		{name: "beside results that a person made differ less", was: `"0"`, is: `"0"`, change: func(o *observer) {
			o.notes, o.cook = "m", "2"
			o.tried(edited(`"0"`, `"1"`), engine.ApplyOptions{})
			o.tried(edited(`"0"`, "\"0\"\n tool = \"b\""), engine.ApplyOptions{})
			o.cook, o.notes = "1", "m"
		}, refused: refusal},
		{name: "asked for", change: func(o *observer) { o.notes = "m" }, opts: force},
		{name: "asked for before", change: func(o *observer) { o.cook = "2" }, opts: cooked},
		{name: "a tool that a person wrote", was: `"0"`, is: "\"0\"\n tool = \"b\""},
		{name: "a choice that a person wrote", was: `"0"`, is: "\"0\"\n glass = \"small\""},
		{name: "input that a person wrote", was: `text = "meal"`, is: `text = "soup"`},
		{name: "another seed", was: `"0"`, is: `"1"`, change: func(o *observer) { o.notes = "m" }},
	} {
		o := newObserver(t)
		o.tried(table, engine.ApplyOptions{})
		if tt.change != nil {
			tt.change(o)
		}
		looked, refused := o.tried(edited(tt.was, tt.is), engine.ApplyOptions{PlanOptions: tt.opts})
		if !strings.Contains(refused, tt.refused) || (tt.refused == "") != (looked == 1) || tt.refused == "" && refused != "" {
			t.Errorf("%s: looked %d times, refused: %s", tt.name, looked, refused)
		}
	}
}

// TestRepeatsAnswered: somebody who is asked, or a flag, decides what becomes of results.
func TestRepeatsAnswered(t *testing.T) {
	for _, tt := range []struct {
		answer engine.Repeats
		looked int
		text   string
	}{{engine.AskRepeats, 0, "would repeat 1 result"}, {engine.RunRepeats, 1, ""}, {engine.KeepRepeats, 0, ""}} {
		for _, cook := range []string{"1", "2"} { // decided before anything runs, and later
			o := newObserver(t)
			o.tried(table, engine.ApplyOptions{})
			o.notes, o.cook = "m", cook
			opts := engine.ApplyOptions{PlanOptions: engine.PlanOptions{Repeats: tt.answer}}
			if cook == "1" {
				opts = engine.ApplyOptions{AskRepeats: func(r *plan.Repeats) engine.Repeats {
					if diff := cmp.Diff(&plan.Repeats{Steps: 1, CostUSD: 2, DurationMillis: r.DurationMillis}, r); diff != "" {
						t.Error(diff)
					}
					return tt.answer
				}}
			}
			if looked, refused := o.tried(table, opts); looked != tt.looked || tt.text == "" && refused != "" || !strings.Contains(refused, tt.text) {
				t.Errorf("answer %d, cook %s: looked %d times; %s", tt.answer, cook, looked, refused)
			}
		}
	}
}

// TestNothingRuns: where nothing may run, what is left to the machine comes from the lock
// or from the results, and a miss names the field that differs.
func TestNothingRuns(t *testing.T) {
	o := newObserver(t)
	o.tried(table, engine.ApplyOptions{})
	lock := o.lock(table, engine.LockOptions{})
	o.glass = "small"
	for _, opts := range []engine.ApplyOptions{{RequireCached: true}, {Lock: lock}, {RequireCached: true, Lock: lock}} {
		if looked, refused := o.tried(table, opts); looked != 0 || refused != "" {
			t.Errorf("looked %d times; %s", looked, refused)
		}
	}
	o.lacksPlate = true
	if looked, refused := o.tried(table, engine.ApplyOptions{RequireCached: true}); looked != 0 || refused != "" {
		t.Errorf("a plate that is not here: looked %d times; %s", looked, refused)
	}
	o.lacksPlate = false
	elsewhere := strings.ReplaceAll(strings.ReplaceAll(table, `"first"`, `"second"`), "look.first", "look.second")
	for src, want := range map[string]string{
		strings.Replace(elsewhere, `"0"`, "\"0\"\n  tool = \"b\"", 1): "step.look.second is not cached: tool changed from a to b",
		strings.Replace(table, `text = "meal"`, `text = "soup"`, 1):   "step.cook.meal is not cached: text changed from meal to soup",
	} {
		if _, refused := o.tried(src, engine.ApplyOptions{RequireCached: true}); !strings.Contains(refused, want) || strings.Contains(refused, "first run") {
			t.Errorf("%s\nwant %s", refused, want)
		}
	}
}
