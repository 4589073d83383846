package fleet

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// puppet is a backend with one job, whose statuses the test tells.
type puppet struct {
	cluster.Backend
	tell               chan func(cluster.Status)
	started            chan cluster.Job
	mu                 sync.Mutex
	cancelled, removed []string
}

func (p *puppet) Start(_ context.Context, job cluster.Job) error { p.started <- job; return nil }
func (p *puppet) Close() error                                   { return nil }

func (p *puppet) Watch(ctx context.Context, fn func(cluster.Status), all func()) error {
	all()
	for range 2 {
		select {
		case p.tell <- fn:
		case <-ctx.Done():
		}
	}
	<-ctx.Done()
	return nil
}

func (p *puppet) Cancel(_ context.Context, names ...string) error {
	p.mu.Lock()
	p.cancelled = append(p.cancelled, names...)
	p.mu.Unlock()
	fn := <-p.tell
	for _, name := range names {
		fn(cluster.Status{Job: name, ID: "1", State: cluster.Failed})
	}
	return nil
}

func (p *puppet) Remove(_ context.Context, names ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed = append(p.removed, names...)
	return nil
}

// stage is a fleet with a puppet and a step that copies its text.
type stage struct {
	*testing.T
	fleet *Fleet
	back  *puppet
	at    string
	kinds *step.Registry
	job   engine.Job
	jobs  chan event.StepJob
	done  chan error
	out   engine.Outcome
	// lines are what the job's workers printed.
	lines lines
}

// lines passes on a log line by line.
type lines chan string

// Write implements io.Writer.
func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

type echo struct{ text string }

func (e echo) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	ref, err := cache.PutBytes(ctx, env.Store, []byte(e.text))
	return cache.Outputs{"content": {Ref: ref}}, err
}

func newStage(t *testing.T) *stage {
	s := &stage{T: t, at: "file://" + filepath.ToSlash(t.TempDir()), jobs: make(chan event.StepJob, 100), done: make(chan error, 1), lines: make(lines, 10)}
	s.kinds = step.NewRegistry(step.Kind{
		Name: "echo", Version: "1", Args: []step.Attr{{Name: "text", Type: cty.String, Required: true}}, Outputs: []step.Output{{Name: "content", Type: step.ArtifactType}},
		New: func(args step.Args) (step.Step, error) { return echo{args.Get("text").AsString()}, nil },
	})
	kind := s.kinds.Kind("echo")
	args := step.ArgsOf(cty.ObjectVal(map[string]cty.Value{"text": cty.StringVal("hello")}))
	h, err := step.Key(kind, args, echo{"hello"})
	if err != nil {
		t.Fatal(err)
	}
	s.job = engine.Job{Place: "lab", Address: "step.echo.a", Kind: kind, Args: args, Action: h.Sum(), Fields: h.Fields(), Try: 1, RunID: "r", Log: s.lines,
		Sink: event.SinkFunc(func(e event.Event) {
			if j, ok := e.(event.StepJob); ok {
				s.jobs <- j
			}
		})}
	s.back = &puppet{tell: make(chan func(cluster.Status)), started: make(chan cluster.Job, 1)}
	file := read(t, "")
	file.Backends[0].Backend = s.back
	s.fleet = New(file, Options{Cache: s.tier(), Address: s.at, Warn: func(text string) { t.Log(text) }})
	go func() {
		var err error
		s.out, err = s.fleet.Do(t.Context(), s.job)
		s.done <- err
	}()
	return s
}

func (s *stage) tier() *remote.Tier {
	loc, err := remote.ParseLocation(s.at)
	if err != nil {
		s.Fatal(err)
	}
	c, err := disk.Open(s.TempDir(), disk.Options{})
	if err != nil {
		s.Fatal(err)
	}
	tier := remote.New(c, loc, remote.Options{})
	s.Cleanup(func() { tier.Close(); c.Close() })
	return tier
}

// ended waits for the outcome.
func (s *stage) ended() error {
	s.Helper()
	select {
	case err := <-s.done:
		return err
	case <-time.After(30 * time.Second):
		s.Fatal("the job has no outcome")
		return nil
	}
}

// told waits for a state of the job.
func (s *stage) told(state, reason string) event.StepJob {
	s.Helper()
	for limit := time.After(30 * time.Second); ; {
		select {
		case e := <-s.jobs:
			if e.State == state && e.Reason == reason {
				return e
			}
		case <-limit:
			s.Fatalf("no event says %s %s", state, reason)
		}
	}
}

// TestResultOfLostWorker: the worker stored its record and was lost. The job waits for
// another start, which is not needed: the result is taken and the job cancelled.
func TestResultOfLostWorker(t *testing.T) {
	s := newStage(t)
	job := <-s.back.started
	w := &work.Worker{Kinds: func(context.Context, []work.Folder) (*step.Registry, error) { return s.kinds, nil }, Cache: s.tier(), Node: "n1", Say: func(string) {}}
	order, err := digest.ParseContentID(job.Args[2])
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context(), s.job.Action, order); err != nil {
		t.Fatal(err)
	}
	if err := w.Cache.Desk().Remove(t.Context(), remote.WorkName(s.job.Action, "result")); err != nil {
		t.Fatal(err)
	}
	fn := <-s.back.tell
	fn(cluster.Status{Job: job.Name, ID: "1", State: cluster.Running, Node: "n1", Starts: 1})
	fn(cluster.Status{Job: job.Name, ID: "1", State: cluster.Pending, Starts: 1, Reason: "BeginTime", Message: "lost"})
	if err := s.ended(); err != nil || s.out.Record == nil {
		t.Errorf("%v %+v", err, s.out)
	}
	s.fleet.Close()
	s.back.mu.Lock()
	defer s.back.mu.Unlock()
	if len(s.back.cancelled) != 1 || len(s.back.removed) != 1 {
		t.Errorf("cancelled %v, removed %v, want the job each", s.back.cancelled, s.back.removed)
	}
}

// TestFinalFailure: a job that somebody cancelled, or whose program is missing, is worth
// no retry; one that the machines ended is.
func TestFinalFailure(t *testing.T) {
	for _, final := range []bool{true, false} {
		t.Run(fmt.Sprint(final), func(t *testing.T) {
			s := newStage(t)
			job := <-s.back.started
			(<-s.back.tell)(cluster.Status{Job: job.Name, ID: "1", State: cluster.Failed, Reason: "WHY", Message: "the reason", Final: final})
			err := s.ended()
			if _, again := step.IsRetryable(err); again == final || err == nil || !strings.Contains(err.Error(), "WHY: the reason") {
				t.Errorf("%v, retryable %v", err, again)
			}
			s.fleet.Close()
		})
	}
}

// TestClaimOfLostWorker: the next worker waits for the claim of the one before. That is
// told, and ends when it has the claim.
func TestClaimOfLostWorker(t *testing.T) {
	s := newStage(t)
	job := <-s.back.started
	desk := s.fleet.opts.Cache.Desk()
	put := func(name, text string) {
		if err := desk.Put(t.Context(), remote.WorkName(s.job.Action, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	put("events-000001-000001", `{"type":"step_log","line":"x"}`+"\n")
	fn := <-s.back.tell
	tell := func(state cluster.State, node string, starts int, reason string) {
		fn(cluster.Status{Job: job.Name, ID: "1", State: state, Node: node, Starts: starts, Reason: reason})
	}
	tell(cluster.Running, "n1", 1, "")
	s.told(event.JobRunning, "")
	<-s.lines // its events are read
	tell(cluster.Pending, "", 1, "NODE_FAIL")
	s.told(event.JobPending, "NODE_FAIL")
	tell(cluster.Running, "n2", 2, "")
	if e := s.told(event.JobPending, "Claimed"); e.Node != "n2" || e.Starts != 2 {
		t.Errorf("%+v", e)
	}
	put("claim-000002", `{"worker":"w2","node":"n2","interval_ms":15000}`)
	if e := s.told(event.JobRunning, ""); e.Node != "n2" || e.Starts != 2 {
		t.Errorf("%+v", e)
	}
	tell(cluster.Failed, "n2", 2, "END")
	if err := s.ended(); err == nil {
		t.Error("it did not fail")
	}
	s.fleet.Close()
}
