package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
)

// steered is a kind of attempts that run until they are asked something, and answer what
// the test says.
func steered(answer func(env *step.Env, asked step.Asked) error) step.Kind {
	k := shaky(nil)
	k.Name = "steered"
	k.Counted = func([]digest.Field) []string { return []string{"a", "b"} }
	k.New = func(step.Args) (step.Step, error) { return waiter{answer}, nil }
	return k
}

type waiter struct {
	answer func(env *step.Env, asked step.Asked) error
}

func (waiter) Conditions() []string { return []string{"weather=sun"} }

func (w waiter) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	patience := make(<-chan time.Time)
	if w.answer == nil { // nobody may ask
		patience = time.After(1200 * time.Millisecond)
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-patience:
	case asked := <-env.Requests:
		if w.answer == nil {
			return nil, fmt.Errorf("asked %+v", asked.Request)
		}
		if err := w.answer(env, asked); err != nil {
			return nil, err
		}
	}
	env.Steered([]string{"stopped@1s"})
	ref, err := cache.PutBytes(ctx, env.Store, []byte("out"))
	return cache.Outputs{"content": {Ref: ref}}, err
}

const attemptsText = `
step "steered" "a" { text = "a" }
step "steered" "b" { text = "b" }
step "mix" "grade" {
  text   = "grade"
  inputs = [step.steered.a.content]
}
`

// asks leaves requests once a step has started, in the run that the events name.
func (r *rig) asks(t *testing.T, address string, list ...step.Request) event.Sink {
	run := ""
	return event.SinkFunc(func(e event.Event) {
		r.events = append(r.events, e)
		if start, ok := e.(event.RunStarted); ok {
			run = start.Run
		}
		if start, ok := e.(event.StepStarted); !ok || start.Address != address || start.Try > 1 {
			return
		}
		past, err := r.history.Open(run)
		for _, request := range list {
			if err == nil {
				_, err = past.Ask(request)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// answers are those of the last run to requests, as text, or those of earlier ones.
func (r *rig) answers(from ...string) (all []string) {
	for _, e := range r.events {
		if s, ok := e.(event.Steered); ok && (s.From == "" && from == nil || slices.Contains(from, s.From)) {
			all = append(all, strings.TrimSpace(string(s.Request.Act)+" "+s.Request.Address)+": "+s.Effect+s.Refused)
		}
	}
	return all
}

func TestSteer(t *testing.T) {
	r := newRig(t)
	tries, mu := map[string]int{}, sync.Mutex{}
	r.more = []step.Kind{steered(func(env *step.Env, asked step.Asked) error {
		mu.Lock()
		tries[env.Address]++
		mu.Unlock()
		asked.Answer("as you say", nil)
		switch asked.Act {
		case step.Cancel:
			return step.ErrCancelled
		case step.Requeue:
			return step.ErrRequeued
		}
		return nil
	})}
	a, b := "step.steered.a", "step.steered.b"
	var last event.Status
	// The run takes them in this order: b waits until the limit is 2.
	o := engine.ApplyOptions{Parallelism: 1, Sink: r.asks(t, a,
		step.Request{Act: step.Stop, Address: b}, step.Request{Act: step.Stop, Address: "step.mix.grade"}, step.Request{Act: step.SetGPUs, Value: 3},
		step.Request{Act: "dance"}, step.Request{Act: step.SetParallelism, Value: 2}, step.Request{Act: step.Requeue, Address: a})}
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Sink = event.Multi(o.Sink, event.SinkFunc(func(e event.Event) {
		if start, ok := e.(event.StepStarted); ok && start.Address == b {
			r.askLater(t, step.Request{Act: step.Cancel, Address: b})
		} else if ok && start.Try == 2 {
			r.askLater(t, step.Request{Act: step.Stop, Address: a})
		}
		if end, ok := e.(event.RunFinished); ok {
			last = end.Status
		}
	}))
	res, diags := r.engine().Apply(ctx, r.program(attemptsText), o)
	cancel(nil)
	if diags.HasErrors() || res.Status != event.Cancelled || last != event.Cancelled || res.Counts[event.Ran] != 2 || res.Counts[event.Cancelled] != 1 {
		t.Errorf("%v %+v", diags, res)
	}
	got := strings.Join(r.answers(), "\n") + "\n"
	for _, want := range []string{
		"requeue step.steered.a: as you say", "stop step.steered.b: it has not started", "stop step.mix.grade: the run has no such attempt",
		"set gpus: the machine has 0 GPUs", `dance: a run knows no "dance"`, "set parallelism: at most 2 steps run at once", "cancel step.steered.b: as you say", "stop step.steered.a: as you say",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no answer %q in\n%s", want, got)
		}
	}
	if tries[a] != 2 || tries[b] != 1 {
		t.Errorf("asked %v", tries)
	}
	// What was cancelled runs again, and nobody cancels it again.
	r.more = []step.Kind{steered(nil)}
	if res, diags := r.engine().Apply(t.Context(), r.program(attemptsText), engine.ApplyOptions{}); diags.HasErrors() || res.Status != event.Ran || res.Counts[event.Ran] != 1 {
		t.Errorf("the next apply: %v %+v", diags, res)
	}
	for _, e := range r.events {
		if f, ok := e.(event.StepFinished); ok && f.Address == "step.mix.grade" && strings.Join(f.Conditions, " ") != "steered=stopped@1s weather=sun" {
			t.Errorf("the grade has the conditions %q", f.Conditions)
		}
	}
}

// TestDrained puts an attempt of a drained run back: only the next apply goes on with it, and
// nobody asks it again. That apply records what the run was asked.
func TestDrained(t *testing.T) {
	r := newRig(t)
	r.more = []step.Kind{steered(func(env *step.Env, one step.Asked) error {
		for ; one.Act == step.Extend; one = <-env.Requests {
			one.Answer("longer", nil)
		}
		one.Answer("it ends, and begins again "+step.InTurn, nil)
		return step.ErrRequeued
	})}
	a, b := "step.steered.a", "step.steered.b"
	until := time.Now().Add(24 * time.Hour)
	o := engine.ApplyOptions{Parallelism: 1, Sink: event.Multi(r.asks(t, a,
		step.Request{Act: step.SetDeadline, Until: until}, step.Request{Act: step.Extend, Address: a, ByMillis: 1000},
		step.Request{Act: step.SetBudget, Budget: 25e8}, step.Request{Act: step.Extend, Address: a, Budget: 1e9}, step.Request{Act: step.Drain},
	), event.SinkFunc(func(e event.Event) {
		switch e := e.(type) {
		case event.StepFinished:
			if e.Address == b {
				r.askLater(t, step.Request{Act: step.Stop, Address: b})
			}
		case event.Steered:
			if e.Request.Address == b {
				r.askLater(t, step.Request{Act: step.Requeue, Address: a})
			}
		}
	}))}
	res, diags := r.engine().Apply(t.Context(), r.program(attemptsText), o)
	if diags.HasErrors() || res.Status != event.Cancelled || res.Counts[event.Cancelled] != 3 {
		t.Fatalf("%v %+v", diags, res)
	}
	run, got := res.RunID, strings.Join(r.answers(), "\n")+"\n"
	for _, want := range []string{
		"extend " + a + ": longer; the deadline of the run stays " + until.Local().Format("2006-01-02 15:04:05"), "extend " + a + ": longer; the budget of the run stays 2.5 USD\n",
		"stop " + b + ": this run does not begin it; the next apply does\n", "requeue " + a + ": it ends, and begins again with the next apply, since this run starts nothing new\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no answer %q in\n%s", want, got)
		}
	}
	r.events = nil
	r.more = []step.Kind{steered(func(env *step.Env, one step.Asked) error {
		for _, other := range []step.Asked{one, <-env.Requests} {
			if other.Act != step.Extend || !other.Again { // what was added holds
				return fmt.Errorf("asked %+v", other.Request)
			}
			other.Answer("longer", nil)
		}
		return nil
	})}
	res, diags = r.engine().Apply(t.Context(), r.program(`step "steered" "a" { text = "a" }`), engine.ApplyOptions{Sink: r.asks(t, "")})
	if diags.HasErrors() || res.Status != event.Ran {
		t.Fatalf("%v %+v", diags, res)
	}
	second := res.RunID
	if got := r.answers(run); len(got) != 4 || !strings.HasPrefix(got[0], "set deadline: ") || !strings.HasPrefix(got[1], "set budget: ") || !strings.HasPrefix(got[2], "drain: ") || !strings.HasPrefix(got[3], "requeue "+a) {
		t.Errorf("of the run before it are %q", got)
	}
	// A third apply finds the result, with what was asked in both, and not what was asked of runs.
	r.events = nil
	if _, diags := r.engine().Apply(t.Context(), r.program(`step "steered" "a" { text = "a" }`), engine.ApplyOptions{Sink: r.asks(t, "")}); diags.HasErrors() {
		t.Fatal(diags)
	}
	if first, last := r.answers(run), r.answers(second); len(first) != 1 || !strings.HasPrefix(first[0], "requeue "+a) || len(last) != 2 || len(r.answers()) > 0 {
		t.Errorf("at the third apply %q and %q", first, last)
	}
}

// askLater asks something of the last run.
func (r *rig) askLater(t *testing.T, request step.Request) {
	past, err := r.history.Find("latest")
	if err == nil {
		_, err = past.Ask(request)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestUnmet lets a run end before an attempt did what was asked: the next run asks it
// again, with the same request.
func TestUnmet(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	r.more = []step.Kind{steered(func(_ *step.Env, asked step.Asked) error {
		asked.Answer("soon", nil)
		cancel(errors.New("the process is killed"))
		<-ctx.Done()
		return context.Cause(ctx)
	})}
	stop := step.Request{Act: step.Stop, Address: "step.steered.a", Reason: "enough"}
	o := engine.ApplyOptions{Sink: r.asks(t, stop.Address, stop, step.Request{Act: step.Drain})}
	text := `step "steered" "a" { text = "a" }`
	if res, diags := r.engine().Apply(ctx, r.program(text), o); diags.HasErrors() || res.Status != event.Cancelled {
		t.Fatalf("%v %+v", diags, res)
	}
	before := r.answers()
	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	var again step.Request
	r.more = []step.Kind{steered(func(_ *step.Env, asked step.Asked) error {
		again = asked.Request
		asked.Answer("now", nil)
		return nil
	})}
	r.events = nil
	if res, diags := r.engine().Apply(ctx, r.program(text), engine.ApplyOptions{Sink: r.asks(t, "")}); diags.HasErrors() || res.Status != event.Ran {
		t.Fatalf("%v %+v", diags, res)
	}
	if again.Act != step.Stop || again.Reason != "enough" || again.Author == "" {
		t.Errorf("asked %+v after %q", again, before)
	}
	// Once it has its result, nobody is asked.
	r.events = nil
	if res, diags := r.engine().Apply(ctx, r.program(text), engine.ApplyOptions{Sink: r.asks(t, "")}); diags.HasErrors() || res.Status != event.Ran || len(r.answers()) > 0 {
		t.Fatalf("%v %+v %q", diags, res, r.answers())
	}
}

// TestBegun kills a run after the answer to a request and before its effect: the next run
// has the request at hand before its attempt goes on, and knows that it was begun.
func TestBegun(t *testing.T) {
	for _, act := range []step.Act{step.Stop, step.Cancel, step.Requeue} {
		t.Run(string(act), func(t *testing.T) {
			r := newRig(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			r.more = []step.Kind{steered(func(_ *step.Env, asked step.Asked) error {
				asked.Answer("as you say", nil)
				cancel(errors.New("the process is killed"))
				<-ctx.Done()
				return context.Cause(ctx)
			})}
			a, text := "step.steered.a", `step "steered" "a" { text = "a" }`
			if res, diags := r.engine().Apply(ctx, r.program(text), engine.ApplyOptions{Sink: r.asks(t, a, step.Request{Act: act, Address: a})}); diags.HasErrors() || res.Status != event.Cancelled {
				t.Fatalf("%v %+v", diags, res)
			}
			kind := steered(nil)
			var begun []step.Asked
			kind.New = func(step.Args) (step.Step, error) { return atHand{&begun}, nil }
			r.more = []step.Kind{kind}
			if res, diags := r.engine().Apply(t.Context(), r.program(text), engine.ApplyOptions{}); diags.HasErrors() || res.Status != event.Ran {
				t.Fatalf("%v %+v", diags, res)
			}
			if len(begun) != 1 || begun[0].Act != act || !begun[0].Begun || !begun[0].Again {
				t.Errorf("at hand are %+v", begun)
			}
		})
	}
}

// TestDoneUnsaid asks for something that an earlier run did, and was killed before it could
// say so: the next run finds the result, and says it.
func TestDoneUnsaid(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	a, text := "step.steered.a", `step "steered" "a" { text = "a" }`
	r.more = []step.Kind{steered(func(*step.Env, step.Asked) error {
		cancel(errors.New("the process is killed"))
		return context.Cause(ctx)
	})}
	o := engine.ApplyOptions{Sink: r.asks(t, a, step.Request{Act: step.Stop, Address: a}, step.Request{Act: step.Extend, Address: a, ByMillis: 1000})}
	if res, diags := r.engine().Apply(ctx, r.program(text), o); diags.HasErrors() || res.Status != event.Cancelled {
		t.Fatalf("%v %+v", diags, res)
	}
	r.more = []step.Kind{steered(nil)}
	killed := r.history
	r.history = history.New(t.TempDir()) // it tells nothing to the run that is killed
	if res, diags := r.engine().Apply(t.Context(), r.program(text), engine.ApplyOptions{}); diags.HasErrors() || res.Status != event.Ran {
		t.Fatalf("%v %+v", diags, res)
	}
	r.history, r.events = killed, nil
	if res, diags := r.engine().Apply(t.Context(), r.program(text), engine.ApplyOptions{Sink: r.asks(t, "")}); diags.HasErrors() || res.Status != event.Ran {
		t.Fatalf("%v %+v", diags, res)
	}
	answers := r.answers()
	slices.Sort(answers)
	if want := []string{"extend " + a + ": it has ended", "stop " + a + ": it was done before this run"}; !slices.Equal(answers, want) {
		t.Errorf("answered %q, want %q", answers, want)
	}
}

// atHand is an attempt that takes the requests that are there when it starts.
type atHand struct{ to *[]step.Asked }

func (s atHand) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	for range len(env.Requests) {
		asked := <-env.Requests
		*s.to = append(*s.to, asked)
		asked.Answer("it was begun", nil)
	}
	ref, err := cache.PutBytes(ctx, env.Store, []byte("out"))
	return cache.Outputs{"content": {Ref: ref}}, err
}

// TestExtendedTwice gives a second try what was added to the limit of the first.
func TestExtendedTwice(t *testing.T) {
	r := newRig(t)
	var asked []string
	r.more = []step.Kind{steered(func(env *step.Env, one step.Asked) error {
		for ; one.Act == step.Extend; one = <-env.Requests {
			asked = append(asked, fmt.Sprint(env.Try, one.Again))
			one.Answer("longer", nil)
		}
		one.Answer("as you say", nil)
		if one.Act == step.Requeue {
			return step.ErrRequeued
		}
		return nil
	})}
	a := "step.steered.a"
	o := engine.ApplyOptions{Sink: event.Multi(r.asks(t, a, step.Request{Act: step.Extend, Address: a, ByMillis: 1000}), event.SinkFunc(func(e event.Event) {
		if s, ok := e.(event.Steered); ok && s.Request.Act == step.Extend {
			next := step.Requeue
			if len(asked) > 1 {
				next = step.Stop
			}
			r.askLater(t, step.Request{Act: next, Address: a})
		}
	}))}
	res, diags := r.engine().Apply(t.Context(), r.program(`step "steered" "a" { text = "a" }`), o)
	if diags.HasErrors() || res.Status != event.Ran || strings.Join(asked, ", ") != "1 false, 2 true" {
		t.Errorf("%v %+v asked %q", diags, res, asked)
	}
}

// TestHostileRequests puts files into the folder of requests that mleflow did not write.
func TestHostileRequests(t *testing.T) {
	dir := t.TempDir()
	store := history.New(dir)
	run, err := store.Begin(history.Opening{Info: history.Info{Pipeline: "/x/y.hcl"}})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	folder := filepath.Join(dir, "runs", run.ID(), "requests")
	name := func(last string) string { return "20261130T000000.000000Z-aaaaaaa" + last + ".json" }
	secret := filepath.Join(dir, "secret")
	good := `{"id":"20261130T000000.000000Z-aaaaaaaX","time":"2026-11-30T00:00:00Z","act":"drain","author":"me@here"}`
	for path, text := range map[string]string{
		secret: good, filepath.Join(folder, name("a")): good, filepath.Join(folder, name("b")): "{", filepath.Join(folder, name("c")): strings.Repeat(" ", 1<<20),
		filepath.Join(folder, "other.json"): good, filepath.Join(folder, "..json"): good,
		filepath.Join(folder, name("d")): strings.Replace(strings.Replace(good, "aaX", "aad", 1), "me@here", "me\\u001b[2J", 1),
		filepath.Join(folder, name("e")): strings.Replace(strings.Replace(good, "aaX", "aae", 1), `"act"`, `"by_ms":-1,"act"`, 1),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, make := range []func(string) error{
		func(p string) error { return os.Symlink(secret, p) },
		func(p string) error { return os.Mkdir(p, 0o700) },
		func(p string) error { return mkfifo(p) },
	} {
		if err := make(filepath.Join(folder, name(string(rune('f'+i))))); err != nil {
			t.Fatal(err)
		}
	}
	requests := run.Requests()
	list, refused := requests.New()
	if len(list) != 0 || len(refused) != 8 {
		t.Errorf("%v, %v", list, refused)
	}
	past, err := store.Open(run.ID())
	if err == nil {
		_, err = past.Ask(step.Request{Act: step.Drain, Reason: "ok"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if list, refused := requests.New(); len(list) != 1 || len(refused) != 0 || list[0].Reason != "ok" || time.Since(list[0].Time) > time.Minute {
		t.Errorf("%v, %v", list, refused)
	}
	if _, err := past.Ask(step.Request{Reason: "two\nlines"}); err == nil {
		t.Error("a reason of two lines is taken")
	}
}

// TestLimits ends a run whose budget is used up, or whose deadline has passed: what spends is
// stopped, what has no agent yet is cancelled, and what waits does not start.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		set  step.Request
		want string
	}{
		{"budget", step.Request{Act: step.SetBudget, Budget: 2e9}, "stop step.steered.a: as you say (budget of the run)"},
		{"deadline", step.Request{Act: step.SetDeadline}, "cancel step.steered.b: as you say (deadline of the run)\nstop step.steered.a: as you say (deadline of the run)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			spent := make(chan bool, 1)
			kind := steered(nil)
			kind.New = func(step.Args) (step.Step, error) {
				return spender{waiter{func(env *step.Env, asked step.Asked) error {
					asked.Answer("as you say", nil)
					if asked.Act == step.Cancel {
						return step.ErrCancelled
					}
					spent <- true
					return nil
				}}, spent, c.set.Act == step.SetBudget}, nil
			}
			r.more = []step.Kind{kind}
			sink := event.SinkFunc(func(e event.Event) {
				start, _ := e.(event.StepStarted)
				late, _ := e.(event.Steered)
				if start.Address == "step.steered.a" || late.Refused != "" && late.Request.Act == c.set.Act {
					c.set.Until = time.Now().Add(2 * time.Second)
					r.askLater(t, c.set)
				}
			})
			res, diags := r.engine().Apply(t.Context(), r.program(attemptsText), engine.ApplyOptions{KeepGoing: true, Sink: event.Multi(r.asks(t, ""), sink)})
			if diags.HasErrors() || res.Counts[event.Ran] == 0 {
				t.Fatalf("%v %+v", diags, res)
			}
			var got []string
			for _, e := range r.events {
				if s, ok := e.(event.Steered); ok && s.Request.Address != "" {
					got = append(got, fmt.Sprintf("%s %s: %s (%s)", s.Request.Act, s.Request.Address, s.Effect+s.Refused, s.Request.Reason))
				}
			}
			slices.Sort(got)
			if strings.Join(got, "\n") != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

// spender is an attempt that reports what it costs; that of b has no agent.
type spender struct {
	waiter
	stopped chan bool
	ends    bool
}

func (s spender) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if strings.HasSuffix(env.Address, ".a") {
		env.Phase(step.Phase{Name: step.Running, Spent: step.Spent{Cost: 15e8}})
		env.Phase(step.Phase{Name: step.Running, Spent: step.Spent{Cost: 25e8}, Submission: step.SubmissionValid})
	} else if s.ends { // nobody asks it
		<-s.stopped
		ref, err := cache.PutBytes(ctx, env.Store, []byte("out"))
		return cache.Outputs{"content": {Ref: ref}}, err
	}
	return s.waiter.Run(ctx, env)
}

// stander is an attempt that stands still at each try.
type stander struct{ waiter }

func (s stander) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	env.Stalled(step.Stall{Since: time.Now(), Act: step.Requeue})
	return s.waiter.Run(ctx, env)
}

// TestOnStall puts an attempt that stands still back twice, not more often; its result says
// so. A run that ended in between asks nothing of the next one.
func TestOnStall(t *testing.T) {
	r := newRig(t)
	kind := steered(nil)
	var authors []string
	kind.New = func(step.Args) (step.Step, error) {
		return stander{waiter{func(_ *step.Env, asked step.Asked) error {
			authors = append(authors, asked.Author+" "+string(asked.Act))
			asked.Answer("as you say", nil)
			if asked.Act == step.Requeue {
				return step.ErrRequeued
			}
			return nil
		}}}, nil
	}
	r.more = []step.Kind{kind}
	a := "step.steered.a"
	o := engine.ApplyOptions{Sink: event.Multi(r.asks(t, ""), event.SinkFunc(func(e event.Event) {
		if s, ok := e.(event.Steered); ok && s.Refused != "" {
			r.askLater(t, step.Request{Act: step.Stop, Address: a})
		}
	}))}
	text := `step "steered" "a" { text = "a" }`
	res, diags := r.engine().Apply(t.Context(), r.program(text), o)
	if diags.HasErrors() || res.Status != event.Ran || len(authors) != 3 || authors[0] != step.OnStall+" requeue" || authors[1] != authors[0] || strings.HasPrefix(authors[2], step.OnStall) {
		t.Fatalf("%v %+v asked by %q, answered %q", diags, res, authors, r.answers())
	}
	if got := strings.Join(r.answers(), "\n"); !strings.Contains(got, "stalls have put it back 2 times") {
		t.Error(got)
	}
	for _, e := range r.events {
		if f, ok := e.(event.StepFinished); ok && strings.Join(f.Conditions, " ") != "steered=requeued_stalled steered=stopped@1s weather=sun" {
			t.Errorf("the conditions are %q", f.Conditions)
		}
	}

	// Over two applies: what the first one did counts.
	authors = nil
	killed, kill := context.WithCancelCause(t.Context())
	kind.New = func(step.Args) (step.Step, error) {
		return stander{waiter{func(env *step.Env, asked step.Asked) error {
			if env.Try == 1 {
				asked.Answer("as you say", nil)
				return step.ErrRequeued
			}
			kill(errors.New("the process is killed"))
			<-killed.Done()
			return context.Cause(killed)
		}}}, nil
	}
	r.more = []step.Kind{kind}
	text = `step "steered" "a" { text = "twice" }`
	if res, diags := r.engine().Apply(killed, r.program(text), engine.ApplyOptions{}); diags.HasErrors() || res.Status != event.Cancelled {
		t.Fatalf("%v %+v", diags, res)
	}
	kind.New = func(step.Args) (step.Step, error) {
		return stander{waiter{func(_ *step.Env, asked step.Asked) error {
			authors = append(authors, asked.Author+" "+string(asked.Act))
			asked.Answer("as you say", nil)
			if asked.Act == step.Requeue {
				return step.ErrRequeued
			}
			return nil
		}}}, nil
	}
	r.more, r.events = []step.Kind{kind}, nil
	if res, diags := r.engine().Apply(t.Context(), r.program(text), o); diags.HasErrors() || res.Status != event.Ran || len(authors) != 2 || authors[0] != step.OnStall+" requeue" || strings.HasPrefix(authors[1], step.OnStall) {
		t.Fatalf("%v %+v asked by %q, answered %q", diags, res, authors, r.answers())
	}
	if got := strings.Join(r.answers(), "\n"); !strings.Contains(got, "stalls have put it back 2 times") {
		t.Error(got)
	}

	// Once in the first apply, and not in the second: the result still says so.
	kind.New = func(step.Args) (step.Step, error) {
		return stander{waiter{func(env *step.Env, asked step.Asked) error {
			asked.Answer("as you say", nil)
			return step.ErrRequeued
		}}}, nil
	}
	r.more, r.events = []step.Kind{kind}, nil
	text = `step "steered" "a" { text = "once" }`
	once, stop := context.WithCancelCause(t.Context())
	end := event.SinkFunc(func(e event.Event) {
		if _, again := e.(event.StepRetry); again {
			stop(errors.New("the process is killed"))
		}
	})
	if res, diags := r.engine().Apply(once, r.program(text), engine.ApplyOptions{Sink: end}); diags.HasErrors() || res.Status != event.Cancelled {
		t.Fatalf("%v %+v", diags, res)
	}
	r.more = []step.Kind{steered(nil)}
	if _, diags := r.engine().Apply(t.Context(), r.program(text), engine.ApplyOptions{Sink: r.asks(t, "")}); diags.HasErrors() {
		t.Fatal(diags)
	}
	says := false
	for _, e := range r.events {
		if f, ok := e.(event.StepFinished); ok {
			says = slices.Contains(f.Conditions, "steered=requeued_stalled")
		}
	}
	if !says {
		t.Errorf("the result does not say that a stall put it back: %q", r.answers())
	}

	// Killed between the request and the act.
	ctx, cancel := context.WithCancelCause(t.Context())
	kind.New = func(step.Args) (step.Step, error) {
		return stander{waiter{func(*step.Env, step.Asked) error {
			cancel(errors.New("the process is killed"))
			<-ctx.Done()
			return context.Cause(ctx)
		}}}, nil
	}
	r.more = []step.Kind{kind}
	text = `step "steered" "a" { text = "b" }`
	if res, diags := r.engine().Apply(ctx, r.program(text), engine.ApplyOptions{}); diags.HasErrors() || res.Status != event.Cancelled {
		t.Fatalf("%v %+v", diags, res)
	}
	r.more = []step.Kind{steered(nil)} // nobody may ask
	if res, diags := r.engine().Apply(t.Context(), r.program(text), engine.ApplyOptions{}); diags.HasErrors() || res.Status != event.Ran {
		t.Fatalf("%v %+v", diags, res)
	}
}
