package engine

import (
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// results are the results that a run uses: one for each action, however many steps have
// it. So all dependents see the same, and so does the next run.
type results struct {
	mu sync.Mutex
	// decided has nil for an action that must run.
	decided map[digest.ActionID]*cache.Record
}

// newResults returns the results that a plan has decided to use.
func newResults(nodes []*node) *results {
	r := &results{decided: map[digest.ActionID]*cache.Record{}}
	for _, n := range nodes {
		if n.decision != nil {
			r.agree(n.decision.id, n.decision.record)
		}
	}
	return r
}

// of returns the result of an action, or nil if there is none yet.
func (r *results) of(id digest.ActionID) *cache.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decided[id]
}

// agree decides to use a result of an action, or to run it if it is nil. It returns what
// was decided before, if anything was.
func (r *results) agree(id digest.ActionID, rec *cache.Record) (_ *cache.Record, before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, found := r.decided[id]; found {
		return was, true
	}
	r.decided[id] = rec
	return rec, false
}

// take uses a result, unless it is nil.
func (r *results) take(id digest.ActionID, rec *cache.Record) *cache.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec != nil {
		r.decided[id] = rec
	}
	return rec
}
