package page

import (
	"fmt"
	"html/template"
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
		*b = append(*b, Block{Name: block, Tally: &Tally{}})
	}
	at := &(*b)[i]
	for _, before := range after {
		if before != block && b.at(before) >= 0 && !slices.Contains(at.After, before) {
			at.After = append(at.After, before)
		}
	}
	at.Total++
	at.Tally.Add(status)
	return at.Tally
}

// Graph draws the blocks, each with a link to the address with its name at the end; "" is
// no link. Live reports whether the run is under way.
func (b Blocks) Graph(address string, live bool) template.HTML {
	for i := range b {
		b[i].Describe(&b[i], live)
		if address != "" {
			b[i].Address = address + template.URLQueryEscaper(b[i].Name)
		}
	}
	return Graph(b)
}
