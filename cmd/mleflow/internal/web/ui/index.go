package ui

import (
	"sync"

	"github.com/mleflow/mleflow/engine/ledger"
)

// runIndex remembers the entries of ended runs, of which only names, tags and notes
// change.
type runIndex struct {
	ledger *ledger.Ledger
	mu     sync.Mutex
	ended  map[string]ledger.Entry
}

func newRunIndex(l *ledger.Ledger) *runIndex {
	return &runIndex{ledger: l, ended: map[string]ledger.Entry{}}
}

// entry returns a run as it is in a list. Of one that cannot be read only the id
// is known.
func (x *runIndex) entry(id string) ledger.Entry {
	x.mu.Lock()
	e, ok := x.ended[id]
	x.mu.Unlock()
	if ok {
		e.About = x.ledger.About(id)
		return e
	}
	past, err := x.ledger.Open(id)
	if err != nil {
		return ledger.Entry{Info: ledger.Info{ID: id}, State: ledger.Unreadable}
	}
	e = past.Entry()
	e.Environment = nil // a page of one run reads it again
	if e.State != ledger.Running {
		x.mu.Lock()
		x.ended[id] = e
		x.mu.Unlock()
	}
	return e
}

// chunk is the number of runs that one goroutine reads.
const chunk = 64

// entries returns runs as they are in a list, in the order of the ids.
func (x *runIndex) entries(ids []string) []ledger.Entry {
	out := make([]ledger.Entry, len(ids))
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
