package ui

import (
	"sync"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// runIndex remembers the entries of ended runs, of which only names, tags and notes
// change.
type runIndex struct {
	history *history.Store
	// ended are the entries by run; reasons are those for which ended runs did not finish.
	ended, reasons sync.Map
}

func newRunIndex(l *history.Store) *runIndex {
	return &runIndex{history: l}
}

// reason says why a run did not finish: the first step that failed, or how far it came. It is
// "" of one that finished or goes on.
func (x *runIndex) reason(e history.Entry) (why string) {
	if e.State == history.Finished || e.State == history.Running {
		return ""
	}
	if known, ok := x.reasons.Load(e.ID); ok {
		return known.(string)
	}
	switch f := e.Finish; {
	case e.State == history.Failed:
		why = x.failure(e.ID)
	case f != nil:
		done := f.Ran + f.Cached + f.Failed
		why = "stopped after " + fraction(done, done+f.Skipped+f.Cancelled+f.Unneeded) + " steps"
	case e.State == history.Interrupted:
		why = "killed, or its machine stopped"
	}
	x.reasons.Store(e.ID, why)
	return why
}

// failure is the first step of a run that failed, with its error.
func (x *runIndex) failure(id string) string {
	past, err := x.history.Open(id)
	if err != nil {
		return ""
	}
	for e, err := range past.Events() {
		if end, ok := e.(event.StepFinished); err == nil && ok && end.Status == event.Failed {
			return end.Address + ": " + end.Error
		}
	}
	return ""
}

// chunk is the number of runs that one goroutine reads.
const chunk = 64

// entries returns runs as they are in a list, in the order of the ids.
func (x *runIndex) entries(ids []string) []history.Entry {
	out := make([]history.Entry, len(ids))
	var all sync.WaitGroup
	slots := make(chan struct{}, 4)
	for from := 0; from < len(ids); from += chunk {
		all.Add(1)
		slots <- struct{}{}
		go func() {
			defer func() { <-slots; all.Done() }()
			for i := from; i < min(from+chunk, len(ids)); i++ {
				out[i] = x.entry(ids[i])
			}
		}()
	}
	all.Wait()
	return out
}

// entry returns a run as it is in a list. Of one that cannot be read only the id
// is known.
func (x *runIndex) entry(id string) history.Entry {
	if known, ok := x.ended.Load(id); ok {
		e := known.(history.Entry)
		e.About = x.history.About(id)
		return e
	}
	past, err := x.history.Open(id)
	if err != nil {
		return history.Entry{Info: history.Info{ID: id}, State: history.Unreadable}
	}
	e := past.Entry()
	e.Environment = nil // a page of one run reads it again
	if e.State != history.Running {
		x.ended.Store(id, e)
	}
	return e
}
