package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// interval is short, so that a silent claim is soon taken over.
const interval = 50 * time.Millisecond

// lab is a kind of step whose work the test decides.
type lab struct {
	version string
	// work does the work; nil copies the argument text to the output.
	work func(ctx context.Context, env *step.Env) error
	runs atomic.Int32
	now  atomic.Int32
	most atomic.Int32
}

func (l *lab) kinds() *step.Registry {
	return step.NewRegistry(step.Kind{
		Name: "mix", Version: l.version,
		Args:    []step.Attr{{Name: "text", Type: cty.String, Required: true}, {Name: "data", Type: step.ArtifactType}, {Name: "key", Type: step.SecretRefType}},
		Outputs: []step.Output{{Name: "content", Type: step.ArtifactType}, {Name: "size", Type: cty.Number}},
		New: func(args step.Args) (step.Step, error) {
			m := &mix{lab: l}
			return m, args.Decode(&m.args)
		},
	})
}

type mix struct {
	lab  *lab
	args struct {
		Text string          `cty:"text"`
		Data *step.Artifact  `cty:"data"`
		Key  *step.SecretRef `cty:"key"`
	}
}

func (m *mix) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	l := m.lab
	l.runs.Add(1)
	n := l.now.Add(1)
	defer l.now.Add(-1)
	if n > l.most.Load() {
		l.most.Store(n)
	}
	fmt.Fprintf(env.Log, "mixing %s\n", m.args.Text)
	if l.work != nil {
		if err := l.work(ctx, env); err != nil {
			return nil, err
		}
	}
	text := m.args.Text
	if m.args.Data != nil {
		r, err := env.Store.Open(ctx, m.args.Data.Ref.ID)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		text += string(data)
	}
	ref, err := cache.PutBytes(ctx, env.Store, []byte(text))
	return cache.Outputs{"content": {Ref: ref}, "size": {JSON: fmt.Appendf(nil, "%d", len(text))}}, err
}

// newTier is a machine with a cache of its own.
func newTier(t testing.TB, address string) *remote.Tier {
	t.Helper()
	loc, err := remote.ParseLocation(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := disk.Open(t.TempDir(), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tier := remote.New(c, loc, remote.Options{})
	t.Cleanup(func() { errors.Join(tier.Close(), c.Close()) })
	return tier
}

func (l *lab) worker(t testing.TB, address, node string) *Worker {
	return &Worker{
		Kinds: func(context.Context, []Folder) (*step.Registry, error) { return l.kinds(), nil },
		Cache: newTier(t, address), Node: node, Interval: interval, Say: func(text string) { t.Log(node + ": " + text) },
	}
}

// bench is the machine that orders.
type bench struct {
	t     testing.TB
	lab   *lab
	tier  *remote.Tier
	order *Order
	args  step.Args
	// placed is the digest of the last order.
	placed digest.ContentID
	seen   []event.Event
}

func newBench(t testing.TB, l *lab, address, text string) *bench {
	t.Helper()
	b := &bench{t: t, lab: l, tier: newTier(t, address)}
	data, err := cache.PutBytes(t.Context(), b.tier, []byte(" and data"))
	if err != nil {
		t.Fatal(err)
	}
	kind := l.kinds().Kind("mix")
	b.args = step.ArgsOf(cty.ObjectVal(map[string]cty.Value{
		"text": cty.StringVal(text), "data": step.NewArtifact(&step.Artifact{From: "step.a.b", Output: "tree", Ref: data}),
		"key": cty.CapsuleVal(step.SecretRefType, &step.SecretRef{Ref: "env:SECRET"}),
	}))
	s, err := kind.New(b.args)
	if err != nil {
		t.Fatal(err)
	}
	h, err := step.Key(kind, b.args, s)
	if err != nil {
		t.Fatal(err)
	}
	if b.order, err = NewOrder(kind, b.args, h.Sum(), h.Fields()); err != nil {
		t.Fatal(err)
	}
	b.order.Address, b.order.Run, b.order.Version = "step.mix.one", "run-1", "1.0"
	return b
}

func (b *bench) id() digest.ActionID { return b.order.Action }

func (b *bench) place(live bool) *Task {
	b.t.Helper()
	task, _, err := Place(b.t.Context(), b.tier, Placement{Order: b.order, Refs: b.args.Refs(), Live: live, Emit: func(e event.Event) { b.seen = append(b.seen, e) }})
	if err != nil {
		b.t.Fatal(err)
	}
	b.placed = task.Order()
	return task
}

// wait polls until there is a result.
func (b *bench) wait(task *Task) *Result {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		r, err := task.Poll(b.t.Context(), Working, func(e event.Event) { b.seen = append(b.seen, e) })
		if err != nil {
			b.t.Fatal(err)
		}
		if r != nil {
			return r
		}
	}
	b.t.Fatal("no result")
	return nil
}

func (b *bench) logged() (lines []string) {
	for _, e := range b.seen {
		if log, ok := e.(event.StepLog); ok {
			lines = append(lines, log.Line)
		}
	}
	return lines
}

func folder(t testing.TB) string { return "file://" + filepath.ToSlash(t.TempDir()) }

func TestWorkerAnswersAnOrder(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	b := newBench(t, l, at, "paint")
	task := b.place(false)
	w := l.worker(t, at, "n1")
	if err := w.Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	r := b.wait(task)
	if r.Node != "n1" || r.Record == nil || r.Record.Run != "run-1" || string(r.Record.Outputs["size"].JSON) != "14" || r.FetchedBytes == 0 || r.StoredBytes == 0 {
		t.Errorf("result %+v", r)
	}
	if got := strings.Join(b.logged(), "|"); got != "mixing paint" {
		t.Errorf("log %q", got)
	}
	moved := map[string]int64{}
	for _, e := range b.seen {
		if p, ok := e.(event.StepProgress); ok && p.Done == p.Total && p.Unit == "bytes" {
			moved[p.What] += p.Done
		}
	}
	data, made := int64(len(" and data")), r.Record.Outputs["content"].Ref.Size
	if moved["inputs to the remote cache"] != data || moved["result to the remote cache"] != made {
		t.Errorf("told %v of %d and %d bytes", moved, data, made)
	}
	if err := b.tier.Take(t.Context(), r.Record, 1<<20); err != nil {
		t.Fatal(err)
	}
	if rec, err := b.tier.Cache.Lookup(t.Context(), b.id()); err != nil || rec.Outputs["content"].Ref != r.Record.Outputs["content"].Ref {
		t.Errorf("local record %+v, %v", rec, err)
	}
	// Again, and on a machine that has nothing: it is done.
	for _, again := range []*Worker{w, l.worker(t, at, "n2")} {
		if err := again.Run(t.Context(), b.id(), b.placed); err != nil {
			t.Error(err)
		}
	}
	if n := l.runs.Load(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	if err := Clear(t.Context(), b.tier.Desk(), b.id()); err != nil {
		t.Fatal(err)
	}
	names, err := b.tier.Desk().List(t.Context(), remote.WorkName(b.id(), ""))
	if len(names) > 0 || err != nil {
		t.Errorf("left %v, %v", names, err)
	}
	if err := l.worker(t, at, "n3").Run(t.Context(), b.id(), b.placed); !IsRefusal(err) {
		t.Errorf("without an order: %v", err)
	}
}

// TestWrongRecordIsReplaced: a result in the remote cache without an output of the kind is
// none, and what the worker makes takes its place.
func TestWrongRecordIsReplaced(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	b := newBench(t, l, at, "paint")
	ref, err := cache.PutBytes(t.Context(), b.tier, []byte("wrong"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.tier.Push(t.Context(), &cache.Record{Action: b.id(), Outputs: cache.Outputs{"content": {Ref: ref}}}); err != nil {
		t.Fatal(err)
	}
	task := b.place(false)
	if err := l.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	if r := b.wait(task); r.Found || string(r.Record.Outputs["size"].JSON) != "14" {
		t.Errorf("result %+v", r)
	}
	if rec, err := b.tier.FindAfar(t.Context(), b.id()); err != nil || len(rec.Outputs) != 2 {
		t.Errorf("the remote has %+v, %v", rec, err)
	}
}

// TestProvisionalIsForItsController: a result that is not final comes back with its reason and
// the tries before, and the remote cache has no record of it, so that the next order runs
// the step again.
func TestProvisionalIsForItsController(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	l.work = func(_ context.Context, env *step.Env) error { env.Provisional("cause", "why"); return nil }
	b := newBench(t, l, at, "paint")
	b.order.Tries = cache.Tries{Earlier: 2}
	for n := range 2 {
		b.order.Request += "x"
		task := b.place(false)
		if err := l.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed); err != nil {
			t.Fatal(err)
		}
		r := b.wait(task)
		if r.Record == nil || r.Found || r.Record.Tries != (cache.Tries{Provisional: "cause", Why: "why", Earlier: 2}) {
			t.Fatalf("try %d: %+v", n, r)
		}
		if err := b.tier.Take(t.Context(), r.Record, 1<<20); err != nil {
			t.Fatal(err)
		}
		if rec, err := b.tier.FindAfar(t.Context(), b.id()); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("the remote has %+v, %v", rec, err)
		}
	}
}

func TestFailureKeepsItsMarks(t *testing.T) {
	for name, want := range map[string]error{
		"plain": errors.New("boom"), "mismatch": step.Mismatch(errors.New("other bytes")), "retryable": step.Retryable(errors.New("busy"), 3*time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			l, at := &lab{version: "1", work: func(context.Context, *step.Env) error { return want }}, folder(t)
			b := newBench(t, l, at, "paint")
			task := b.place(false)
			if err := l.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed); err != nil {
				t.Fatal(err)
			}
			got := b.wait(task).Err()
			after, retryable := step.IsRetryable(got)
			wantAfter, wantRetryable := step.IsRetryable(want)
			if got.Error() != want.Error() || errors.Is(got, step.ErrMismatch) != errors.Is(want, step.ErrMismatch) || after != wantAfter || retryable != wantRetryable {
				t.Errorf("got %#v", got)
			}
			// Another order for the action is another attempt, whose result is not the old one.
			l.work = nil
			old := b.placed
			b.order, _ = NewOrder(l.kinds().Kind("mix"), b.args, b.id(), b.order.Fields)
			task = b.place(true)
			if err := l.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed); err != nil {
				t.Fatal(err)
			}
			if r := b.wait(task); r.Order == old || r.Err() != nil || r.Record == nil {
				t.Errorf("second attempt: %+v", r)
			}
		})
	}
}

func TestOtherVersionIsRefused(t *testing.T) {
	at := folder(t)
	b := newBench(t, &lab{version: "1"}, at, "paint")
	task := b.place(false)
	other := &lab{version: "2"}
	err := other.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed)
	if !IsRefusal(err) || !strings.Contains(err.Error(), `version "2" here and "1" in the order`) {
		t.Errorf("got %v", err)
	}
	if r := b.wait(task); !IsRefusal(r.Err()) || r.Record != nil || other.runs.Load() > 0 {
		t.Errorf("result %+v", r)
	}
	// Arguments that do not have the key of the action: the field is named.
	b.order.Args = []byte(strings.Replace(string(b.order.Args), "paint", "water", 1))
	b.place(false)
	same := &lab{version: "1"}
	err = same.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed)
	if !IsRefusal(err) || !strings.Contains(err.Error(), "text is water here and paint in the order") {
		t.Errorf("got %v", err)
	}
}

// TestForgedOrder: who may write to the remote cache changes an argument that is not in
// the key, such as where a secret comes from, or puts an order of his own beside the
// honest one. The worker runs neither.
func TestForgedOrder(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	b := newBench(t, l, at, "paint")
	b.place(false)
	desk, w := b.tier.Desk(), l.worker(t, at, "n1")
	honest, err := desk.Get(t.Context(), orderName(b.id(), b.placed))
	if err != nil {
		t.Fatal(err)
	}
	forged := []byte(strings.Replace(string(honest), "env:SECRET", "command:id", 1))
	if string(forged) == string(honest) {
		t.Fatalf("%s has no reference to a secret", honest)
	}
	for _, order := range []digest.ContentID{b.placed, digest.Of(forged)} {
		if err := desk.Put(t.Context(), orderName(b.id(), order), forged); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Run(t.Context(), b.id(), b.placed); !IsRefusal(err) || !strings.Contains(err.Error(), "somebody else changed it") {
		t.Errorf("a changed order: %v", err)
	}
	if n := l.runs.Load(); n > 0 {
		t.Errorf("it ran %d times", n)
	}
	if err := desk.Put(t.Context(), orderName(b.id(), b.placed), honest); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context(), b.id(), b.placed); err != nil || l.runs.Load() != 1 {
		t.Errorf("the honest order beside the forged one: %v", err)
	}
}

// TestForgedDocuments: the worst that other writers can do with claims, events and results
// is to delay or to end a step: claims of any number and interval, lines that are no events,
// and a record under a key that its fields do not give.
func TestForgedDocuments(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	b := newBench(t, l, at, "paint")
	desk := b.tier.Desk()
	put := func(document, text string) {
		t.Helper()
		if err := desk.Put(t.Context(), remote.WorkName(b.id(), document), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	put("claim-999999", `{"worker":"evil","node":"n1","process":"1","interval_ms":1,"ended":true}`)
	put("claim-99999999999999999999", `{"worker":"evil","interval_ms":9223372036854775807}`)
	task := b.place(false)
	put("events-1000000-000001", "no event\n"+`{"type":"run_finished","status":"ran"}`+"\n")
	put(orderPrefix+"zz", "{}")
	if err := l.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	r := b.wait(task)
	if r.Record == nil || l.runs.Load() != 1 {
		t.Fatalf("%+v", r)
	}
	r.Record.Fields = append(r.Record.Fields, digest.Field{Label: "condition.isolation", Value: "container"})
	if err := writeResult(t.Context(), desk, b.id(), r); err != nil {
		t.Fatal(err)
	}
	if r, err := readResult(t.Context(), desk, b.id()); err == nil {
		t.Errorf("a record whose fields do not give its key: %+v", r)
	}
	if err := Clear(t.Context(), desk, b.id()); err != nil {
		t.Fatal(err)
	}
	if names, err := desk.List(t.Context(), "work"); len(names) > 0 || err != nil {
		t.Errorf("left %v, %v", names, err)
	}
}

func TestOneWorkerAtATime(t *testing.T) {
	l, at := &lab{version: "1", work: func(ctx context.Context, _ *step.Env) error {
		_ = progress.Sleep(ctx, 10*interval)
		return nil
	}}, folder(t)
	b := newBench(t, l, at, "paint")
	task := b.place(false)
	var all sync.WaitGroup
	for i := range 8 {
		w := l.worker(t, at, fmt.Sprintf("n%d", i))
		all.Go(func() {
			if err := w.Run(t.Context(), b.id(), b.placed); err != nil {
				t.Error(err)
			}
		})
	}
	r := b.wait(task)
	all.Wait()
	if r.Record == nil || l.runs.Load() != 1 || l.most.Load() != 1 {
		t.Errorf("%d runs, %d at a time, %+v", l.runs.Load(), l.most.Load(), r)
	}
}

// TestStaleHolderRecordsNothing lets a worker that is silent for too long come
// back after another one has taken over.
func TestStaleHolderRecordsNothing(t *testing.T) {
	at := folder(t)
	back := make(chan struct{})
	slow := &lab{version: "1"}
	first := slow.worker(t, at, "first")
	slow.work = func(ctx context.Context, _ *step.Env) error {
		<-back // whatever its context says
		return nil
	}
	b := newBench(t, slow, at, "paint")
	b.order.Fresh = true // so that nothing but the claim protects the result
	task := b.place(false)
	first.Interval = time.Hour // it never renews its claim
	done := make(chan error, 1)
	go func() { done <- first.Run(t.Context(), b.id(), b.placed) }()
	desk := b.tier.Desk()
	waitFor(t, func() bool { n, _, _, _ := lastClaim(t.Context(), desk, b.id()); return n == 1 })
	doc, _, err := readClaim(t.Context(), desk, b.id(), 1)
	if err != nil {
		t.Fatal(err)
	}
	doc.IntervalMillis = interval.Milliseconds() // as if it had promised to
	if err := rewrite(t, desk, b.id(), doc); err != nil {
		t.Fatal(err)
	}
	quick := &lab{version: "1"}
	if err := quick.worker(t, at, "second").Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	r := b.wait(task)
	close(back)
	if err := <-done; !errors.Is(err, errSuperseded) {
		t.Errorf("the first worker: %v", err)
	}
	after, err := readResult(t.Context(), desk, b.id())
	if err != nil || r.Node != "second" || after.Node != "second" || after.Record.StartedUnixMilli != r.Record.StartedUnixMilli {
		t.Errorf("result %+v, then %+v, %v", r, after, err)
	}
	rec, err := b.tier.FindAfar(t.Context(), b.id())
	if err != nil || rec.StartedUnixMilli != r.Record.StartedUnixMilli {
		t.Errorf("record %+v, %v", rec, err)
	}
}

func TestInterruptedWorkerGivesUpItsClaim(t *testing.T) {
	l, at := &lab{version: "1", work: func(ctx context.Context, _ *step.Env) error {
		<-ctx.Done()
		return ctx.Err()
	}}, folder(t)
	b := newBench(t, l, at, "paint")
	task := b.place(false)
	ctx, stop := context.WithCancel(t.Context())
	first := l.worker(t, at, "first")
	first.Interval = time.Hour // who waits for the claim to fall silent waits for days
	done := make(chan error, 1)
	go func() { done <- first.Run(ctx, b.id(), b.placed) }()
	waitFor(t, func() bool { return l.runs.Load() == 1 })
	stop()
	if err := <-done; err == nil || IsRefusal(err) {
		t.Errorf("the first worker: %v", err)
	}
	l.work = nil
	if err := l.worker(t, at, "second").Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	if r := b.wait(task); r.Node != "second" || r.Record == nil {
		t.Errorf("result %+v", r)
	}
}

// TestAdopt follows a worker that another controller has started, from the start
// of its events.
func TestAdopt(t *testing.T) {
	going := make(chan struct{})
	l, at := &lab{version: "1", work: func(context.Context, *step.Env) error { <-going; return nil }}, folder(t)
	b := newBench(t, l, at, "paint")
	b.place(false)
	done := make(chan error, 1)
	w := l.worker(t, at, "n1")
	go func() { done <- w.Run(t.Context(), b.id(), b.placed) }()
	waitFor(t, func() bool { return l.runs.Load() == 1 })
	first := b.placed
	b.order, _ = NewOrder(l.kinds().Kind("mix"), b.args, b.id(), b.order.Fields)
	task, adopted, err := Place(t.Context(), b.tier, Placement{Order: b.order, Refs: b.args.Refs(), Live: true, Emit: func(event.Event) {}})
	if err != nil || !adopted {
		t.Fatalf("adopted %v, %v", adopted, err)
	}
	close(going)
	r := b.wait(task)
	if err := <-done; err != nil || r.Order != first || r.Record == nil || strings.Join(b.logged(), "|") != "mixing paint" {
		t.Errorf("%v, result %+v, log %q", err, r, b.logged())
	}
}

// TestResultAfterEvents polls without a pause: whenever the result is seen, every
// event has been.
func TestResultAfterEvents(t *testing.T) {
	for i := range 40 {
		l, at := &lab{version: "1"}, folder(t)
		b := newBench(t, l, at, fmt.Sprintf("paint %d", i))
		task, w := b.place(false), l.worker(t, at, "n1")
		done := make(chan error, 1)
		go func() { done <- w.Run(t.Context(), b.id(), b.placed) }()
		var r *Result
		for r == nil && !t.Failed() {
			var err error
			if r, err = task.Poll(t.Context(), Working, func(e event.Event) { b.seen = append(b.seen, e) }); err != nil {
				t.Error(err)
			}
		}
		if err := <-done; err != nil || strings.Join(b.logged(), "|") != fmt.Sprintf("mixing paint %d", i) {
			t.Fatalf("%v, the log of action %d is %q", err, i, b.logged())
		}
	}
}

func waitFor(t testing.TB, what func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !what(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

func rewrite(t testing.TB, desk remote.Desk, id digest.ActionID, doc *claimDocument) error {
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return desk.Put(t.Context(), claimName(id, 1), data)
}
