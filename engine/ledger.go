package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/engine/local"
)

// memory is the ledger's knowledge about a pipeline's addresses. It is empty if
// state is nil.
type memory struct{ state *ledger.Pipeline }

// memory loads the ledger's knowledge about the pipeline.
func (e *Engine) memory(p *Program) (memory, error) {
	if e.opts.Ledger == nil {
		return memory{}, nil
	}
	path, err := filepath.Abs(p.Pipeline.Path)
	if err != nil {
		return memory{}, fmt.Errorf("find pipeline: %w", err)
	}
	state, err := e.opts.Ledger.Pipeline(path)
	return memory{state}, err
}

// last returns the action of the last success of an address, or zero, and the
// duration of its last execution.
func (m memory) last(address string) ledger.Memory {
	if m.state == nil {
		return ledger.Memory{}
	}
	known, _ := m.state.Last(address)
	return known
}

// open begins the run in the ledger and adds the journal to the sink.
func (r *run) open() error {
	if r.e.opts.Ledger == nil {
		r.sink = serial(r.sink)
		return nil
	}
	path, err := filepath.Abs(r.p.Pipeline.Path)
	if err != nil {
		return fmt.Errorf("find pipeline: %w", err)
	}
	vars := make(map[string]json.RawMessage, len(r.p.Variables))
	for name, text := range r.p.Variables {
		if vars[name], err = json.Marshal(text); err != nil {
			return err
		}
	}
	if past := r.e.opts.Ledger.Unfinished(r.pl.memory.state); past != nil {
		r.resumed = past.Info.ID
	}
	sources := map[string][]byte{filepath.Base(path): r.p.Pipeline.Source}
	if sources[local.RecordName], err = local.Encode(r.p.Pipeline.LocalFiles().Answers()); err != nil {
		return err
	}
	c := r.e.opts.Capacity
	r.journal, err = r.e.opts.Ledger.Begin(ledger.Opening{
		Info: ledger.Info{
			Pipeline: path, Name: filepath.Base(path), Argv: r.opts.Args, Variables: vars, Version: r.e.opts.Version,
			CPUs: c.CPUs, MemoryBytes: c.MemoryBytes, GPUs: c.Devices, Started: r.started, Resumed: r.resumed,
		},
		Plan:    &r.pl.Plan,
		About:   r.opts.About,
		Sources: sources,
		Secrets: secret.New(r.p.hidden...),
	})
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
	r.result.RunID = r.journal.ID()
	r.sink = serial(event.Multi(r.journal, r.sink))
	return nil
}

// warnUnrecorded warns if a run that only reads results is not recorded, for
// example because the cache is read-only.
func (r *run) warnUnrecorded() {
	if r.unrecorded != nil {
		r.sink.Emit(event.Warning{At: now(), Message: fmt.Sprintf("this run is not recorded, so mleflow runs and mleflow show will not list it: %s", r.unrecorded)})
	}
}

// close ends the run in the ledger.
func (r *run) close() error {
	if r.journal == nil {
		return nil
	}
	return errors.Join(r.pl.memory.state.Close(), r.journal.Close())
}

// openLog returns a log for an attempt's output, in addition to the events, or
// nil if there is none.
func (r *run) openLog(address string, attempt int) io.WriteCloser {
	if r.journal == nil {
		return nil
	}
	return r.journal.Log(address, attempt)
}

// remember records the action of an address, so that the next plan can explain
// a change. The duration is that of the attempt that made the record.
func (r *run) remember(n *node, status event.Status) {
	if r.journal == nil {
		return
	}
	m := ledger.Memory{Action: n.decision.id}
	if status == event.Ran {
		// At least a millisecond, because zero means that it was not executed.
		m.Duration = time.Duration(max(1, n.decision.record.DurationMillis)) * time.Millisecond
	}
	if err := r.pl.memory.state.Put(n.plan.Name, m); err != nil && r.memoryErr == nil {
		r.memoryErr = err
		r.sink.Emit(event.Warning{At: now(), Address: n.plan.Name, Message: fmt.Sprintf("the state cannot be written, so the next plan may not be able to explain changes: %s", err)})
	}
}
