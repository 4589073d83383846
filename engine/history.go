package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// memory loads the run history's knowledge about the pipeline's addresses. Without a
// run history it is nil.
func (e *Engine) memory(p *Program) (*history.Pipeline, error) {
	if e.opts.History == nil {
		return nil, nil
	}
	path, err := filepath.Abs(p.Pipeline.Path)
	if err != nil {
		return nil, fmt.Errorf("find pipeline: %w", err)
	}
	return e.opts.History.Pipeline(path)
}

// open begins the run in the run history and adds the journal to the sink.
func (r *run) open() error {
	if r.e.opts.History == nil {
		r.sink = serial(r.sink)
		return nil
	}
	o, err := opening(r.p, &r.pl.Plan)
	if err != nil {
		return err
	}
	past := r.e.opts.History.Unfinished(r.pl.memory)
	if past != nil {
		if past.Entry().State == history.Interrupted {
			r.resumed = past.Info.ID
		}
		if o.Requests, err = past.Unmet(); err != nil {
			return err
		}
		r.continued, r.asked = past.Info.ID, o.Requests
	}
	c := r.e.opts.Capacity
	o.Info.Argv, o.Info.Version, o.Info.Started, o.Info.Resumed = r.p.Pipeline.HideSensitive(r.opts.Args), r.e.opts.Version, r.started, r.resumed
	o.Info.CPUs, o.Info.MemoryBytes, o.Info.GPUs, o.About = c.CPUs, c.MemoryBytes, c.Devices, r.opts.About
	o.Info.SavedPlan = r.opts.Saved
	r.journal, err = r.e.opts.History.Begin(o)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: %w", cache.ErrReadOnly, err)
		}
		if c := r.pl.Counts(); c.Run+c.Deferred > 0 {
			return err
		}
		r.journal, r.unrecorded = nil, err
		r.sink = serial(r.sink)
		return nil
	}
	if past != nil { // asked meanwhile
		if err := r.journal.Take(past); err != nil {
			return errors.Join(err, r.close())
		}
	}
	r.result.RunID = r.journal.ID()
	r.sink = serial(event.Multi(r.journal, &r.steering.watch, r.sink, event.SinkFunc(r.steering.stall)))
	return nil
}

// opening describes what a run of the pipeline would do.
func opening(p *Program, pl *plan.Plan) (o history.Opening, err error) {
	path, err := filepath.Abs(p.Pipeline.Path)
	if err != nil {
		return o, fmt.Errorf("find pipeline: %w", err)
	}
	vars := make(map[string]json.RawMessage, len(p.Variables))
	for name, text := range p.Variables {
		if vars[name], err = json.Marshal(text); err != nil {
			return o, err
		}
	}
	name := filepath.Base(path)
	sources := map[string][]byte{name: p.Pipeline.Source}
	if sources[local.RecordName], err = local.Encode(p.Pipeline.LocalFiles().Answers()); err != nil {
		return o, err
	}
	o = history.Opening{Info: history.Info{Pipeline: path, Name: name, Variables: vars}, Plan: pl, Sources: sources, Secrets: secret.New(p.hidden...)}
	for i := range pl.Steps {
		if at, found := p.Find(pl.Steps[i].Address); found && p.Instances[at].Step.Kind.Counted != nil {
			o.Counted = append(o.Counted, pl.Steps[i].Name)
		}
	}
	return o, nil
}

// warnUnrecorded warns if a run that only reads results is not recorded, for
// example because the cache is read-only.
func (r *run) warnUnrecorded() {
	if r.unrecorded != nil {
		r.sink.Emit(event.Warning{At: event.Now(), Message: fmt.Sprintf("this run is not recorded, so mleflow runs and mleflow show will not list it: %s", r.unrecorded)})
	}
}

// close ends the run in the run history.
func (r *run) close() error {
	if r.journal == nil {
		return nil
	}
	return errors.Join(r.pl.memory.Close(), r.journal.Close())
}

// openLog returns a log for a try's output, in addition to the events, or
// nil if there is none.
func (r *run) openLog(address string, attempt int) io.WriteCloser {
	if r.journal == nil {
		return nil
	}
	return r.journal.Log(address, attempt)
}

// remember records the action of an address, so that the next plan can explain
// a change. The duration is that of the try that made the record.
func (r *run) remember(n *node, status event.Status) {
	if r.journal == nil {
		return
	}
	m := history.Memory{Action: n.decision.id}
	if status == event.Ran {
		// At least a millisecond, because zero means that it was not executed.
		m.Duration = time.Duration(max(1, n.decision.record.DurationMillis)) * time.Millisecond
	}
	if err := r.pl.memory.Put(n.plan.Name, m); err != nil && r.memoryErr == nil {
		r.memoryErr = err
		r.sink.Emit(event.Warning{At: event.Now(), Address: n.plan.Name, Message: fmt.Sprintf("the state cannot be written, so the next plan may not be able to explain changes: %s", err)})
	}
}

// Commitment is what an apply of a plan would declare in the run history's chain,
// and the number of counted steps.
func (e *Engine) Commitment(p *Program, pl *plan.Plan) (id digest.ContentID, counted int, err error) {
	o, err := opening(p, pl)
	if err != nil {
		return id, 0, err
	}
	l := o.Declaration()
	if e.opts.History != nil {
		l.Prev, err = e.opts.History.Head()
	}
	return l.Commitment(), len(l.Steps), err
}

// counted makes a try, which does step n, and records its beginning and its
// end in the chain if the kind is counted. Nothing is started that cannot be
// counted.
func (r *run) counted(ctx context.Context, n *node, attempt int, do func() error) error {
	kind := n.Step.Kind
	if !n.counted() || r.journal == nil {
		return do()
	}
	l := history.Link{Type: history.Began, Run: r.result.RunID, Step: history.Mark(n.plan.Name), Action: n.decision.id, Try: attempt}
	for _, name := range kind.Counted(n.decision.fields) {
		l.Subjects = append(l.Subjects, history.Mark(name))
	}
	switch {
	case n.forced:
		l.Why = "forced"
	case n.retried:
		l.Why = "retried"
	}
	if err := r.e.opts.History.Extend(l); err != nil {
		return err
	}
	err := do()
	l.Type, l.Why, l.Status = history.Ended, "", history.StatusRan
	switch {
	case errors.Is(err, step.ErrCancelled):
		l.Status, l.Steered = history.StatusCancelled, string(step.Cancel)
	case errors.Is(err, step.ErrRequeued):
		l.Status, l.Steered = history.StatusCancelled, string(step.Requeue)
	case err != nil && ctx.Err() != nil:
		l.Status = history.StatusCancelled
	case err != nil:
		l.Status = history.StatusFailed
	case n.found:
		l.Status = history.StatusFound
	default:
		l.Result, l.Steered = ResultID(n.decision.record.Outputs), n.decision.record.Tries.Steered
		if n.decision.record.Final() == nil {
			l.Status = history.StatusNotFinal
		}
	}
	if failed := r.e.opts.History.Extend(l); err == nil {
		err = failed
	}
	return err
}

// ResultID identifies the content that a step gave, without its small values.
func ResultID(outputs cache.Outputs) digest.ContentID {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if ref := outputs[name].Ref; !ref.IsZero() {
			text = append(text, name+" "+string(ref.Kind)+":"+ref.ID.String()+"\n"...)
		}
	}
	return digest.Of(text)
}

// serial makes a sink safe for concurrent use.
func serial(s event.Sink) event.Sink {
	var mu sync.Mutex
	return event.SinkFunc(func(ev event.Event) {
		mu.Lock()
		defer mu.Unlock()
		s.Emit(ev)
	})
}
