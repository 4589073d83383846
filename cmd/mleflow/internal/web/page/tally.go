package page

import (
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/engine/event"
)

// Tally counts the instances of a step block by how they stand. Problems are
// attempts and submissions that went wrong although their step did not fail.
type Tally struct {
	Total, Running, Problems int
	by                       map[event.Status]int
}

// Add counts an instance that has ended; an empty status has not.
func (t *Tally) Add(s event.Status) {
	if t.by == nil {
		t.by = map[event.Status]int{}
	}
	if s != "" {
		t.by[s]++
	}
}

func (t *Tally) done() int { return event.Done(t.by) }

func (t *Tally) text() string {
	parts := []string{fmt.Sprintf("%d/%d", t.done(), t.Total)}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.Problems, "bad")
	add(t.Running, "running")
	for _, s := range []event.Status{event.Failed, event.Skipped, event.Cancelled} {
		add(t.by[s], string(s))
	}
	if len(parts) == 1 {
		add(t.by[event.Cached], "cached")
	}
	return strings.Join(parts, " · ")
}

// Describe fills in the counts and the state of a block. Live reports whether the run is
// under way.
func (t *Tally) Describe(b *Block, live bool) {
	b.Counts, b.Done = t.text(), float64(t.done())/float64(max(t.Total, 1))
	switch {
	case t.by[event.Failed]+t.Problems > 0:
		b.State = "failed"
	case t.Running > 0:
		b.State = "running"
	case t.done() == 0 && live:
		b.State = "waiting"
	}
}
