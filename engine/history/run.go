package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// Opening is the data with which a run begins.
type Opening struct {
	// Info describes the run. ID, Host, OS, PID and Started are filled in if
	// they are empty.
	Info  Info
	Plan  *plan.Plan
	About About
	// Sources are the pipeline's files by name.
	Sources map[string][]byte
	// Counted are the addresses of the plan's steps whose attempts are in the
	// chain.
	Counted []string
	// Requests are those to the run that this one continues.
	Requests []step.Request
	// Secrets are masked in everything the run writes; nil masks nothing.
	Secrets *secret.Set
}

// Run is a run of this process. It implements event.Sink and is safe for
// concurrent use.
type Run struct {
	info    Info
	dir     string
	secrets *secret.Set
	lock    *os.File
	// describing adds the facts of the run history to run.json.
	describing sync.WaitGroup

	mu       sync.Mutex
	journal  *os.File
	buf      []byte
	progress map[string]time.Time
	phases   map[string]step.Phase
	err      error
}

// Begin writes the folder of a new run and locks it.
func (l *Store) Begin(o Opening) (_ *Run, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("begin run: %w", err)
		}
	}()
	if err := nolink.MkdirAll(l.runs(), 0o777); err != nil {
		return nil, err
	}
	tmp, err := nolink.MkdirTemp(l.runs(), ".new-", 0o750)
	if err != nil {
		return nil, err
	}
	r := &Run{info: o.Info, secrets: o.Secrets, progress: map[string]time.Time{}, phases: map[string]step.Phase{}}
	fill(&r.info)
	if err = r.create(tmp, o); err == nil {
		err = r.publish(tmp, l.runs())
	}
	if err != nil {
		r.closeFiles()
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	err = l.stateFile(r.info.Pipeline).noteRun(r.info.ID)
	if err == nil && len(o.Counted) > 0 {
		declared := o.Declaration()
		declared.Run = r.info.ID
		err = l.Extend(declared)
	}
	if err != nil {
		r.closeFiles()
		return nil, errors.Join(err, os.RemoveAll(r.dir))
	}
	if l.facts != nil && r.info.Environment == nil {
		r.describing.Go(func() { r.describe(l.facts) })
	}
	return r, nil
}

// describe writes run.json again, with the facts. The steps do not wait for them: to
// digest the program takes longer than to start an agent.
func (r *Run) describe(facts func() map[string]string) {
	info := r.info
	info.Environment = facts()
	next := filepath.Join(r.dir, ".run.json")
	err := r.writeJSON(next, info)
	if err == nil {
		err = os.Rename(next, filepath.Join(r.dir, "run.json"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(err)
}

func fill(i *Info) {
	host, _ := os.Hostname()
	i.Host, i.OS, i.PID = cmp.Or(i.Host, host), cmp.Or(i.OS, runtime.GOOS+"/"+runtime.GOARCH), cmp.Or(i.PID, os.Getpid())
	if i.Started.IsZero() {
		i.Started = time.Now()
	}
	i.Started = i.Started.UTC().Round(0)
}

// create writes all files except run.json, whose content depends on the ID.
func (r *Run) create(tmp string, o Opening) (err error) {
	if r.lock, err = nolink.Create(filepath.Join(tmp, "lock")); err != nil {
		return err
	}
	if _, err := flock.Try(r.lock); err != nil {
		return err
	}
	if o.Plan != nil {
		if err := r.writeJSON(filepath.Join(tmp, "plan.json"), o.Plan); err != nil {
			return err
		}
	}
	if !o.About.empty() {
		if err := r.writeJSON(filepath.Join(tmp, aboutFile), o.About); err != nil {
			return err
		}
	}
	for name, text := range o.Sources {
		to := filepath.Join(tmp, "pipeline", sourceName(name))
		if err := nolink.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := nolink.WriteFile(to, r.secrets.Bytes(text), 0o444, false); err != nil {
			return err
		}
	}
	requests := filepath.Join(tmp, requestsDir)
	if err := nolink.Mkdir(requests, 0o750); err != nil {
		return err
	}
	for _, request := range o.Requests {
		if err := writeRequest(requests, request); err != nil {
			return err
		}
	}
	r.journal, err = nolink.OpenFile(filepath.Join(tmp, "events.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	return err
}

// sourceName converts the name of a source to a path that stays inside its
// folder.
func sourceName(name string) string {
	return filepath.Clean("/" + strings.ReplaceAll(filepath.ToSlash(name), ":", "_"))
}

// publish assigns a unique ID to the run and renames its folder to it.
func (r *Run) publish(tmp, runs string) error {
	given := r.info.ID != ""
	for {
		if !given {
			r.info.ID = newID(r.info.Started)
		}
		if err := r.writeJSON(filepath.Join(tmp, "run.json"), r.info); err != nil {
			return err
		}
		r.dir = filepath.Join(runs, r.info.ID)
		err := os.Rename(tmp, r.dir)
		if err == nil || given || !errors.Is(err, fs.ErrExist) {
			return err
		}
		// Another process took the ID in the same millisecond.
		r.info.Started = r.info.Started.Add(time.Millisecond)
	}
}

// writeJSON writes a file that Past.Own accepts: in a cache that a group shares, all may
// read it and only this user can have written it.
func (r *Run) writeJSON(path string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return nolink.WriteFile(path, r.secrets.JSON(b.Bytes()), 0o444, false)
}

// ID returns the ID of the run.
func (r *Run) ID() string { return r.info.ID }

// progressEvery limits how often the journal records the progress of a step.
const progressEvery = 5 * time.Second

// phaseEvery limits how often the journal records the progress of a phase. An
// agent may run for days.
func phaseEvery(e event.StepPhase) time.Duration {
	if e.Name != step.Running {
		return progressEvery
	}
	const most = 30 * time.Second
	return min(most, max(progressEvery, e.Time.Sub(e.Started)/20)) // of a short attempt, some too
}

// Emit appends an event to the journal. Lines printed by steps are left to
// their logs, and only some of a step's progress is recorded. If the process is
// killed, only events of steps that were not executed can be lost; the next run
// emits them again. Close returns a write error.
func (r *Run) Emit(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := e.(type) {
	case event.StepLog, event.Publishing:
		return
	case event.StepProgress:
		if e.Time.Sub(r.progress[e.Address]) < progressEvery {
			return
		}
		r.progress[e.Address] = e.Time
	case event.StepPhase:
		if !e.Turn(r.phases[e.Address]) && e.Time.Sub(r.progress[e.Address]) < phaseEvery(e) {
			return
		}
		r.progress[e.Address], r.phases[e.Address] = e.Time, e.Phase
	case event.StepFinished:
		delete(r.progress, e.Address)
		delete(r.phases, e.Address)
	}
	line, err := event.Encode(e)
	if err != nil {
		r.fail(err)
		return
	}
	r.buf = append(r.buf, r.secrets.JSON(line)...)
	r.buf = append(r.buf, '\n')
	if mustFlush(e) || len(r.buf) > 64<<10 {
		r.flush()
	}
}

func mustFlush(e event.Event) bool {
	end, ok := e.(event.StepFinished)
	return !ok || end.Status == event.Ran || end.Status == event.Failed
}

// flush passes the buffered lines to the kernel. It writes nothing after a
// failed write, so that only the last line can be incomplete.
func (r *Run) flush() {
	if r.err == nil && len(r.buf) > 0 && r.journal != nil {
		_, err := r.journal.Write(r.buf)
		r.fail(err)
	}
	r.buf = r.buf[:0]
}

func (r *Run) fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("write journal: %w", err)
	}
}

// Close syncs the journal to disk and unlocks the run. A run without a
// RunFinished event then counts as interrupted.
func (r *Run) Close() error {
	r.describing.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.journal != nil {
		r.flush()
		r.fail(r.journal.Sync())
	}
	// The lock is released last, because a run without an end counts as
	// interrupted as soon as nobody holds it.
	r.closeFiles()
	return r.err
}

func (r *Run) closeFiles() {
	for _, f := range []**os.File{&r.journal, &r.lock} {
		if *f != nil {
			(*f).Close()
			*f = nil
		}
	}
}
