package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
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
	// refusals are how often Start is yet to say that it takes no job now.
	refusals atomic.Int32
}

func (p *puppet) Start(_ context.Context, job cluster.Job) error {
	if p.refusals.Add(-1) >= 0 {
		return fmt.Errorf("%w: MaxSubmitJobs", cluster.ErrLater)
	}
	p.started <- job
	return nil
}

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
	lines  lines
	warned atomic.Int32
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

func newStage(t *testing.T, attributes ...string) *stage { return newFullStage(t, 0, attributes...) }

// newFullStage is a stage whose cluster refuses some jobs before it takes one.
func newFullStage(t *testing.T, refusals int32, attributes ...string) *stage {
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
	s.back.refusals.Store(refusals)
	file := read(t, strings.Join(attributes, "\n"))
	file.Backends[0].Backend = s.back
	s.fleet = New(file, Options{Cache: s.tier(), Address: s.at, Warn: func(text string) {
		t.Log(text)
		s.warned.Add(1)
	}})
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

// TestNever: a job that can never start is said so at once, and cancelled if that stays so.
// It is the machines' failure, and worth no retry. A reason that passes is waited for.
func TestNever(t *testing.T) {
	s := newStage(t)
	job := <-s.back.started
	fn := <-s.back.tell
	never := cluster.Status{Job: job.Name, ID: "1", State: cluster.Pending, Reason: "PartitionTimeLimit", Message: "longer than allowed", Final: true}
	fn(never)
	s.told(event.JobPending, "PartitionTimeLimit")
	other := never
	other.Reason, other.Message, other.Final = "Priority", "", false
	fn(other)
	s.told(event.JobPending, "Priority")
	s.fleet.byName["lab"].conviction = time.Second
	start := time.Now()
	fn(never)
	err := s.ended()
	_, again := step.IsRetryable(err)
	if again || !errors.Is(err, errMachines) || !strings.Contains(err.Error(), "PartitionTimeLimit: longer than allowed") {
		t.Errorf("%v, retryable %v", err, again)
	}
	if took := time.Since(start); took < time.Second {
		t.Errorf("given up after %v", took)
	}
	s.told(event.JobEnded, "PartitionTimeLimit")
	s.fleet.Close()
	s.back.mu.Lock()
	defer s.back.mu.Unlock()
	if len(s.back.cancelled) != 1 || len(s.back.removed) != 1 {
		t.Errorf("cancelled %v, removed %v, want the job each", s.back.cancelled, s.back.removed)
	}
}

// TestFull: a cluster that takes no more jobs for now is asked again until it does. That is
// said once, and no failure.
func TestFull(t *testing.T) {
	s := newFullStage(t, 2)
	if e := s.told(event.JobQueued, "Later"); !strings.Contains(e.Message, "MaxSubmitJobs") {
		t.Errorf("%+v", e)
	}
	job := <-s.back.started
	(<-s.back.tell)(cluster.Status{Job: job.Name, ID: "1", State: cluster.Failed, Reason: "END"})
	if err := s.ended(); err == nil || s.warned.Load() != 1 {
		t.Errorf("%v, %d warnings", err, s.warned.Load())
	}
	s.fleet.Close()
}

// TestRunsAlready: a step whose job runs is not too large for it, whatever the nodes say now.
func TestRunsAlready(t *testing.T) {
	s := newStage(t)
	job := <-s.back.started
	s.fleet.byName["lab"].listing.nodes, s.fleet.byName["lab"].listing.at = []cluster.Node{{Has: cluster.Needs{CPUs: 1}}}, time.Now()
	fn := <-s.back.tell
	for state, fits := range map[cluster.State]bool{cluster.Pending: false, cluster.Running: true} {
		fn(cluster.Status{Job: job.Name, ID: "1", State: state, Starts: 1})
		if why := s.fleet.Unfit(t.Context(), "lab", s.job.Action, step.Limits{CPUs: 2}); (why == "") != fits {
			t.Errorf("%s: %q", state, why)
		}
		if why := s.fleet.Unfit(t.Context(), "lab", digest.ActionID{}, step.Limits{CPUs: 2}); why == "" {
			t.Errorf("%s: it fits the nodes", state)
		}
	}
	fn(cluster.Status{Job: job.Name, ID: "1", State: cluster.Failed, Final: true})
	if err := s.ended(); err == nil {
		t.Error("it did not fail")
	}
	s.fleet.Close()
}

// TestSiteDecides: what the site decides on is asked of nobody, and nothing is too large for it.
func TestSiteDecides(t *testing.T) {
	limits := step.Limits{CPUs: 4, MemoryBytes: 1 << 40, DiskBytes: 1 << 40, GPUs: 1, Timeout: time.Hour}
	node := cluster.Node{Has: cluster.Needs{CPUs: 1, MemoryBytes: 1, DiskBytes: 1}, MaxTime: time.Minute}
	for site, want := range map[string]cluster.Job{
		`[]`:                 {Needs: cluster.Needs{CPUs: 4, MemoryBytes: 1 << 40, DiskBytes: 1 << 40, GPUs: 1}, Deadline: 90 * time.Minute, Stay: 15 * time.Minute},
		`["memory", "disk"]`: {Needs: cluster.Needs{CPUs: 4, GPUs: 1}, Deadline: 90 * time.Minute, Stay: 15 * time.Minute},
		`["cpus", "memory", "disk", "gpus", "time"]`: {},
	} {
		f := read(t, "site_decides = "+site, node)
		got := f.Backends[0].ask(limits)
		if got.Needs != want.Needs || got.Deadline != want.Deadline || got.Stay != want.Stay {
			t.Errorf("%s: %+v, want %+v", site, got, want)
		}
		all := want.Deadline == 0
		if why := New(f, Options{}).Unfit(t.Context(), "lab", digest.ActionID{}, limits); (why == "") != all {
			t.Errorf("%s: %s", site, why)
		}
		if c := ExamineTime(t.Context(), f.Backends[0]); (c == nil) != all {
			t.Errorf("%s: %+v", site, c)
		}
	}
	path := filepath.Join(t.TempDir(), "c.hcl")
	if err := os.WriteFile(path, []byte("backend \"local\" \"a\" {\n  site_decides = [\"memmory\"]\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, diags := Read(path); !strings.Contains(diags.Error(), `Did you mean "memory"`) {
		t.Error(diags)
	}
}

// TestExamples: a job for each different request of the steps there, or a small one.
func TestExamples(t *testing.T) {
	b := read(t, `site_decides = ["memory"]`).Backends[0]
	at := func(on string, cpus float64) plan.Step {
		return plan.Step{On: on, Limits: step.Limits{CPUs: cpus, MemoryBytes: 1 << 30}}
	}
	for _, c := range []struct {
		steps []plan.Step
		want  []float64
	}{
		{nil, []float64{1}},
		{[]plan.Step{at("other", 7), at("", 8)}, []float64{1}},
		{[]plan.Step{at("lab", 3), at("other", 7), at("lab", 2), at("lab", 3)}, []float64{3, 2}},
		{[]plan.Step{at("lab", 1), at("lab", 2), at("lab", 3), at("lab", 4), at("lab", 5), at("lab", 6), at("lab", 7), at("lab", 8), at("lab", 9)}, []float64{1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		var got []float64
		for _, j := range b.Examples(c.steps) {
			if got = append(got, j.Needs.CPUs); j.Needs.MemoryBytes != 0 || j.Name == "" || len(j.Args) == 0 {
				t.Errorf("%+v", j)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

// TestPartitions: a partition is a name, or a list of names.
func TestPartitions(t *testing.T) {
	for text, want := range map[string]string{`"a"`: "a", `["a", "b"]`: "a,b", `["a"]`: "a", `[]`: "", `{}`: "error", `[["a"]]`: "error"} {
		f, found := hclsyntax.ParseConfig([]byte("partition = "+text), "c.hcl", hcl.InitialPos)
		if found.HasErrors() {
			t.Fatal(found)
		}
		var into struct {
			Partition string `hcl:"partition,optional"`
		}
		if found = gohcl.DecodeBody(joining{f.Body}, nil, &into); found.HasErrors() != (want == "error") || want != "error" && into.Partition != want {
			t.Errorf("%s: %q %v", text, into.Partition, found)
		}
	}
}

// TestListsAgain: a later question is answered by the nodes as they are then.
func TestListsAgain(t *testing.T) {
	f := read(t, "", cluster.Node{Has: cluster.Needs{CPUs: 1}})
	fleet := New(f, Options{Warn: func(text string) { t.Error(text) }})
	if fleet.Unfit(t.Context(), "lab", digest.ActionID{}, step.Limits{CPUs: 2}) == "" {
		t.Error("it fits")
	}
	f.Backends[0].Backend = listing{nodes: []cluster.Node{{Has: cluster.Needs{CPUs: 2}}}}
	fleet.byName["lab"].listing.at = time.Now().Add(-fresh)
	if why := fleet.Unfit(t.Context(), "lab", digest.ActionID{}, step.Limits{CPUs: 2}); why != "" {
		t.Error(why)
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
