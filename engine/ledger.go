package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// state loads what the ledger remembers of the pipeline's addresses.
func (e *Engine) state(p *Program) (addressState, error) {
	if e.opts.Ledger == nil {
		return noState{}, nil
	}
	return noState{}, nil
}

// open begins the run in the ledger and joins its journal to the sink.
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
	c := r.e.opts.Capacity
	r.journal, err = r.e.opts.Ledger.Begin(ledger.Opening{
		Info: ledger.Info{
			Pipeline: path, Name: filepath.Base(path), Argv: r.opts.Args, Variables: vars, Version: r.e.opts.Version,
			CPUs: c.CPUs, MemoryBytes: c.MemoryBytes, GPUs: c.Devices, Started: r.started, Resumed: r.resumed,
		},
		Plan:    &r.pl.Plan,
		Sources: map[string][]byte{filepath.Base(path): r.p.Pipeline.Source},
	})
	if err != nil {
		return err
	}
	r.result.RunID = r.journal.ID()
	r.sink = serial(event.Multi(r.journal, r.sink))
	return nil
}

func (r *run) close() error {
	if r.journal == nil {
		return nil
	}
	return r.journal.Close()
}

// openLog returns where an attempt's output goes.
func (r *run) openLog(address string, attempt int) io.WriteCloser {
	l := &lines{sink: r.sink, address: address}
	if r.journal != nil {
		l.to = r.journal.Log(address, attempt)
	}
	return l
}

// remember keeps the action of an address, to explain the next change.
func (r *run) remember(n int, status event.Status) {
}
