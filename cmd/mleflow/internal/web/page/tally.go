package page

import (
	"fmt"
	"html/template"
	"slices"
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

// Blocks gathers the step blocks of a graph from the steps of a plan, in its order: every
// block comes after those it depends on.
type Blocks struct {
	list    []Block
	tallies []Tally
}

func (b *Blocks) at(name string) int {
	return slices.IndexFunc(b.list, func(known Block) bool { return known.Name == name })
}

// Add adds a step of a block that depends on other blocks, and returns the counts of its
// block.
func (b *Blocks) Add(block string, status event.Status, after ...string) *Tally {
	i := b.at(block)
	if i < 0 {
		i = len(b.list)
		b.list, b.tallies = append(b.list, Block{Name: block}), append(b.tallies, Tally{})
	}
	for _, before := range after {
		if before != block && b.at(before) >= 0 && !slices.Contains(b.list[i].After, before) {
			b.list[i].After = append(b.list[i].After, before)
		}
	}
	b.tallies[i].Total++
	b.tallies[i].Add(status)
	return &b.tallies[i]
}

// Graph draws the blocks, each with a link to the address with its name at the end; "" is
// no link. Live reports whether the run is under way.
func (b *Blocks) Graph(address string, live bool) template.HTML {
	for i := range b.list {
		b.tallies[i].Describe(&b.list[i], live)
		if address != "" {
			b.list[i].Address = address + template.URLQueryEscaper(b.list[i].Name)
		}
	}
	return Graph(b.list)
}
