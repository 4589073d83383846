package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// roomy is a cache on a disk of a given size, where only what is reserved and
// what steps say that they store takes space.
type roomy struct {
	*memory.Cache
	mu                   sync.Mutex
	size, used, reserved int64
	most                 int64
	refused              int
	// keeps is how much of a request stays; requests differ.
	keeps map[int64]int64
}

// Reserve implements cache.Reserver.
func (r *roomy) Reserve(_ context.Context, bytes int64) (func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.used+bytes > r.size:
		return nil, fmt.Errorf("%w: %d of %d are used", cache.ErrSpace, r.used, r.size)
	case r.used+r.reserved+bytes > r.size:
		r.refused++
		return nil, fmt.Errorf("%w: %w", cache.ErrSpace, cache.ErrReserved)
	}
	r.reserved += bytes
	r.most = max(r.most, r.used+r.reserved)
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reserved -= bytes
		r.used += r.keeps[bytes]
	}), nil
}

// will says how much of a request stays when the step has run.
func (r *roomy) will(keep, peak int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keeps[keep+peak] = keep
}

// big is a kind that says what space it needs, and what a preflight finds.
type big struct {
	args struct {
		Text  string           `cty:"text"`
		Keep  int64            `cty:"keep"`
		Peak  int64            `cty:"peak"`
		After []*step.Artifact `cty:"after"`
	}
	fails map[string]error
}

func bigKind(on *roomy, fails map[string]error) step.Kind {
	return step.Kind{
		Name: "big", Version: "1",
		Args: []step.Attr{
			{Name: "text", Type: cty.String, Required: true}, {Name: "keep", Type: cty.Number, Required: true},
			{Name: "peak", Type: cty.Number, Default: cty.Zero}, {Name: "after", Type: cty.List(step.ArtifactType)},
		},
		Outputs: []step.Output{{Name: "out", Type: step.ArtifactType}},
		New: func(args step.Args) (step.Step, error) {
			b := &big{fails: fails}
			if err := args.Decode(&b.args); err != nil {
				return nil, err
			}
			on.will(b.args.Keep, b.args.Peak)
			return b, nil
		},
	}
}

// Estimate says what the block says; with a negative keep, as much as what
// comes before is expected to be.
func (b *big) Estimate() step.Estimate {
	if b.args.Keep < 0 {
		est := step.Estimate{Known: true}
		for _, a := range b.args.After {
			est.CacheBytes += a.Expected
		}
		return est
	}
	return step.Estimate{CacheBytes: b.args.Keep, PeakBytes: b.args.Peak, Files: 2, Known: true, Basis: "the test"}
}

func (b *big) Preflight(context.Context) (step.Preflight, error) {
	return step.Preflight{Subject: b.args.Text, Place: "test", Bytes: b.args.Keep, Estimate: b.Estimate()}, b.fails[b.args.Text]
}

func (b *big) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if err := b.fails[b.args.Text]; err != nil {
		return nil, errors.New("it was run after all")
	}
	if cache.Account(ctx) == nil {
		return nil, errors.New("other steps may draw on its space")
	}
	time.Sleep(time.Duration(len(b.args.Text)%3) * 100 * time.Microsecond)
	ref, err := cache.PutBytes(ctx, env.Store, []byte(b.args.Text))
	return cache.Outputs{"out": {Ref: ref}}, err
}

// diskRig applies pipelines of big steps on a disk.
type diskRig struct {
	disk   *roomy
	fails  map[string]error
	quota  int64
	events []event.Event
	mu     sync.Mutex
}

func (r *diskRig) engine() *engine.Engine {
	return engine.New(engine.Options{Options: config.Options{Kinds: step.NewRegistry(bigKind(r.disk, r.fails)), Version: "0.1.0"}, Cache: r.disk, Capacity: sched.Capacity{CPUs: 4},
		Space: func(context.Context) (plan.Space, error) {
			r.disk.mu.Lock()
			defer r.disk.mu.Unlock()
			return plan.Space{FreeBytes: r.disk.size - r.disk.used, FreeFiles: -1, QuotaBytes: r.quota, UsedBytes: r.disk.used}, nil
		}})
}

func (r *diskRig) load(t *testing.T, src string) (*engine.Engine, *engine.Program) {
	t.Helper()
	e := r.engine()
	p, diags := e.Parse("big.hcl", []byte(src), config.Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return e, p
}

func (r *diskRig) plan(t *testing.T, src string) *plan.Forecast {
	t.Helper()
	e, p := r.load(t, src)
	pl, diags := e.Plan(t.Context(), p, engine.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return pl.Forecast
}

func (r *diskRig) apply(t *testing.T, src string, o engine.ApplyOptions) *engine.Result {
	t.Helper()
	e, p := r.load(t, src)
	o.Sink = event.SinkFunc(func(ev event.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, ev)
	})
	res, diags := e.Apply(t.Context(), p, o)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return res
}

func newDiskRig(size int64) *diskRig {
	return &diskRig{disk: &roomy{Cache: memory.New(), size: size, keeps: map[int64]int64{}}, fails: map[string]error{}}
}

// bigStep writes a step block.
func bigStep(name string, keep, peak int64, after ...string) string {
	return fmt.Sprintf("step \"big\" %q {\n  text = %q\n  keep = %d\n  peak = %d\n  after = [%s]\n}\n", name, name, keep, peak,
		strings.Join(after, ", "))
}

// TestForecastExpects sees that a step whose inputs are not there yet knows
// how large they are expected to be.
func TestForecastExpects(t *testing.T) {
	src := bigStep("a", 100, 50) + bigStep("b", 20, 0) + bigStep("c", -1, 0, "step.big.a.out", "step.big.b.out") + bigStep("d", -1, 0, "step.big.c.out")
	if f := newDiskRig(1000).plan(t, src); f.CacheBytes != 120+120+120 {
		t.Errorf("%d bytes are added, want 360", f.CacheBytes)
	}
}

func TestForecast(t *testing.T) {
	src := bigStep("a", 100, 50) + bigStep("b", 10, 0, "step.big.a.out") + bigStep("c", 1, 70)
	tests := []struct {
		name        string
		size, quota int64
		used        int64
		want        plan.Verdict
	}{
		{"plenty", 1000, 0, 0, plan.Fits},
		// While a and c run, a has its 150, c its 71; b cannot have run yet.
		{"just enough", 221, 0, 0, plan.Fits},
		{"not side by side", 220, 0, 0, plan.Waits},
		// The last to run may be c: 110 of the others and its 71.
		{"one after the other", 181, 0, 0, plan.Waits},
		{"too little", 180, 0, 0, plan.TooLarge},
		{"quota too small", 1000, 180, 0, plan.TooLarge},
		{"with what can be evicted", 1000, 200, 100, plan.Evicts},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newDiskRig(tt.size)
			r.quota, r.disk.used = tt.quota, tt.used
			f := r.plan(t, src)
			got := []int64{f.CacheBytes, f.PeakBytes, f.NeedBytes, f.Files, int64(f.Steps), int64(f.Parallel)}
			if diff := cmp.Diff([]int64{111, 221, 181, 6, 3, 3}, got); diff != "" {
				t.Errorf("cache, peak, need, files, steps, parallel (-want +got):\n%s", diff)
			}
			if f.Verdict != tt.want || (f.Verdict == plan.Fits) != (f.Warning == "") {
				t.Errorf("verdict %q, %q, want %q", f.Verdict, f.Warning, tt.want)
			}
			if f.PeakStep != "step.big.c" || f.NeedStep != "step.big.c" {
				t.Errorf("the peak is made by %q, need by %q", f.PeakStep, f.NeedStep)
			}
		})
	}
}

// TestRefusesWhatNeverFits checks that nothing is started for which there is too
// little space even in an empty cache, unless the run keeps going.
func TestRefusesWhatNeverFits(t *testing.T) {
	src := bigStep("a", 100, 50) + bigStep("b", 10, 0)
	r := newDiskRig(159)
	res := r.apply(t, src, engine.ApplyOptions{})
	if diff := cmp.Diff(map[event.Status]int{event.Failed: 2}, res.Counts); diff != "" || !strings.Contains(res.Failures[0].Err.Error(), "--keep-going") {
		t.Errorf("%+v (-want +got):\n%s", res.Failures, diff)
	}
	if !slices.ContainsFunc(r.events, func(ev event.Event) bool {
		w, ok := ev.(event.Warning)
		return ok && strings.Contains(w.Message, "too little, even with an empty cache")
	}) {
		t.Errorf("no warning says what is missing: %+v", r.events)
	}
	if res := r.apply(t, src, engine.ApplyOptions{KeepGoing: true}); res.Counts[event.Ran] == 0 {
		t.Errorf("nothing was done: %+v", res)
	}
	enough := newDiskRig(160)
	if res := enough.apply(t, src, engine.ApplyOptions{}); res.Status != event.Ran {
		t.Errorf("what fits is refused: %+v", res)
	}
}

// TestForecastOfCached counts only what will run, and deferred steps as if.
func TestForecastOfCached(t *testing.T) {
	r := newDiskRig(1000)
	r.apply(t, bigStep("a", 100, 50), engine.ApplyOptions{})
	f := r.plan(t, bigStep("a", 100, 50)+bigStep("b", 10, 5, "step.big.a.out")+bigStep("c", 7, 0, "step.big.b.out"))
	if f.CacheBytes != 17 || f.Steps != 2 {
		t.Errorf("got %+v", f)
	}
}

// TestReservationsNeverDeadlock applies random graphs on disks of random
// sizes. Where the forecast says that there is space, everything succeeds; in any case
// it ends, the disk never holds more than there is, and what fails says why.
func TestReservationsNeverDeadlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	verdicts := map[plan.Verdict]int{}
	waited := 0
	for round := range 150 {
		var src strings.Builder
		n := 2 + rng.IntN(12)
		for i := range n {
			var after []string
			for j := range i {
				if rng.IntN(6) == 0 {
					after = append(after, fmt.Sprintf("step.big.s%d.out", j))
				}
			}
			src.WriteString(bigStep(fmt.Sprintf("s%d", i), rng.Int64N(100)*20, rng.Int64N(200)*20+int64(i), after...))
		}
		probe := newDiskRig(1<<40).plan(t, src.String())
		r := newDiskRig(probe.NeedBytes*(60+rng.Int64N(100))/100 + 1)
		f := r.plan(t, src.String())
		verdicts[f.Verdict]++
		res := r.apply(t, src.String(), engine.ApplyOptions{KeepGoing: true})
		waited += r.disk.refused
		if r.disk.most > r.disk.size || r.disk.reserved != 0 {
			t.Fatalf("round %d: %d of %d were taken, %d are still reserved", round, r.disk.most, r.disk.size, r.disk.reserved)
		}
		if f.Verdict != plan.TooLarge && res.Status != event.Ran {
			t.Fatalf("round %d: the forecast said %q, then %+v", round, f.Verdict, res.Failures)
		}
		if f.Verdict == plan.Fits && r.disk.refused > 0 {
			t.Fatalf("round %d: a step waited although there is space for all", round)
		}
		for _, fail := range res.Failures {
			if !errors.Is(fail.Err, cache.ErrSpace) || !strings.Contains(fail.Err.Error(), "--cache-dir") {
				t.Fatalf("round %d: %s: %v", round, fail.Address, fail.Err)
			}
		}
	}
	if verdicts[plan.Fits] < 10 || verdicts[plan.Waits] < 10 || verdicts[plan.TooLarge] < 10 || waited < 20 {
		t.Errorf("the test shows little: %v, %d waits", verdicts, waited)
	}
}

// TestPreflight marks what cannot be had as failed before anything runs, and
// continues with the rest although nobody asked to keep going.
func TestPreflight(t *testing.T) {
	r := newDiskRig(1000)
	r.fails["a"] = errors.New("rules not accepted")
	r.fails["c"] = nil
	src := bigStep("a", 10, 0) + bigStep("b", 10, 0, "step.big.a.out") + bigStep("c", 10, 0) + bigStep("d", 10, 0, "step.big.c.out")
	res := r.apply(t, src, engine.ApplyOptions{})
	if diff := cmp.Diff(map[event.Status]int{event.Ran: 2, event.Failed: 1, event.Skipped: 1}, res.Counts); diff != "" || res.Status != event.Failed {
		t.Errorf("%s (-want +got):\n%s", res.Status, diff)
	}
	var asked []string
	started := false
	for _, ev := range r.events {
		switch ev := ev.(type) {
		case event.Preflight:
			if started {
				t.Error("asked after the first step had started")
			}
			asked = append(asked, ev.Subject+" "+ev.Verdict)
		case event.StepStarted:
			started = true
		case event.PreflightFinished:
			if ev.OK != 1 || ev.Failed != 1 || ev.Bytes != 10 || ev.NeedBytes != 10 {
				t.Errorf("sum %+v", ev)
			}
		}
	}
	if diff := cmp.Diff([]string{"a failed", "c ok"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(res.Failures, func(f engine.Failure) bool {
		return f.Address == "step.big.a" && strings.Contains(f.Err.Error(), "rules not accepted")
	}) {
		t.Errorf("failures: %+v", res.Failures)
	}
}

// TestPreflightOfWhatMayPass runs what could not be asked.
func TestPreflightOfWhatMayPass(t *testing.T) {
	r := newDiskRig(1000)
	r.fails["a"] = step.Retryable(errors.New("busy"), 0)
	res := r.apply(t, bigStep("a", 10, 0), engine.ApplyOptions{})
	if len(res.Failures) != 1 || !strings.Contains(res.Failures[0].Err.Error(), "it was run after all") {
		t.Errorf("got %+v", res.Failures)
	}
}
