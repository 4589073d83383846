package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/event"
)

// Tally counts the instances of a step block by how they stand. Problems are
// attempts and submissions that went wrong although their step did not fail.
type Tally struct {
	Total, Running, Problems int
	// Time is how long its instances ran.
	Time time.Duration
	by   map[event.Status]int
}

// Of is the number of instances that ended with a status.
func (t *Tally) Of(status string) int { return t.by[event.Status(status)] }

// Others is the number of instances that neither ran, nor failed, nor are from the cache.
func (t *Tally) Others() int {
	return t.Total - t.by[event.Ran] - t.by[event.Cached] - t.by[event.Failed]
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

// state is the class of the box of a block: "", "failed", "running" or "waiting". Live
// reports whether the run is under way.
func (t *Tally) state(live bool) string {
	switch {
	case t.by[event.Failed]+t.Problems > 0:
		return "failed"
	case t.Running > 0:
		return "running"
	case t.done() == 0 && live:
		return "waiting"
	}
	return ""
}

// Blocks gathers the step blocks of a graph from the steps of a plan, in its order: every
// block comes after those it depends on.
type Blocks []Block

func (b Blocks) at(name string) int {
	return slices.IndexFunc(b, func(known Block) bool { return known.Name == name })
}

// Add adds a step of a block that depends on other blocks, and returns the counts of its
// block.
func (b *Blocks) Add(block string, status event.Status, after ...string) *Tally {
	i := b.at(block)
	if i < 0 {
		i = len(*b)
		*b = append(*b, Block{Name: block})
	}
	at := &(*b)[i]
	for _, before := range after {
		if before != block && b.at(before) >= 0 && !slices.Contains(at.After, before) {
			at.After = append(at.After, before)
		}
	}
	at.Total++
	at.Tally.Add(status)
	return &at.Tally
}
