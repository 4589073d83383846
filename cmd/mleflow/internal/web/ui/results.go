package ui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// notGraded is the outcome of an attempt at which its grader failed.
const notGraded = "not graded"

// result is an attempt that ended, in most cases a graded one.
type result struct {
	grading.Graded
	Agent, Seed string
	// Run and Address are the newest run that has it and the step that graded it
	// there.
	Run, Address string
	Time         time.Time
	// Runs is the number of runs that have it: later ones take it from the cache.
	Runs int
	// status and ended are how the step and the agent ended and action is that of the step,
	// where the attempt has no grade.
	status event.Status
	ended  string
	action string
}

// resultIndex knows the graded attempts of all runs. It is built in the
// background, newest run first.
type resultIndex struct {
	src   Source
	ctx   context.Context
	start sync.Once

	mu      sync.Mutex
	byKey   map[string]*result
	tallies map[string]runTally
	done    map[string]bool
	total   int
	ready   bool
	// missing are the steps whose reports are no longer in the cache.
	missing map[string]bool
}

func newResultIndex(ctx context.Context, src Source) *resultIndex {
	return &resultIndex{src: src, ctx: ctx, byKey: map[string]*result{}, tallies: map[string]runTally{}, done: map[string]bool{}, missing: map[string]bool{}}
}

// refreshEvery is the interval at which new and running runs are read.
const refreshEvery = 3 * time.Second

// begin starts to read, if nobody has.
func (x *resultIndex) begin() { x.start.Do(func() { go x.run() }) }

// run keeps the index up to date until the context ends.
func (x *resultIndex) run() {
	for {
		_ = x.src.Results(nil, func(c Results) error { // what cannot be read is read next time
			x.refresh(c)
			return nil
		})
		x.mu.Lock()
		x.ready = true
		x.mu.Unlock()
		select {
		case <-x.ctx.Done():
			return
		case <-time.After(refreshEvery):
		}
	}
}

func (x *resultIndex) refresh(c Results) {
	ids, err := x.src.Ledger.IDs()
	if err != nil {
		return
	}
	x.mu.Lock()
	x.total = len(ids)
	x.mu.Unlock()
	for _, id := range ids {
		x.mu.Lock()
		done := x.done[id]
		x.mu.Unlock()
		if done || x.ctx.Err() != nil {
			continue
		}
		if past, err := x.src.Ledger.Open(id); err == nil {
			x.read(c, past)
		}
	}
}

// read takes in the attempts of a run.
func (x *resultIndex) read(c Results, past *ledger.Past) {
	ended := !past.Running() // before the journal is read
	tally := tallyOf(past, func(e event.StepFinished) *result {
		x.take(c, past, e)
		return x.graded(e.Action)
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tallies[past.Info.ID] = tally
	x.done[past.Info.ID] = ended
}

// take adds a graded attempt, or one more run to one that is known.
func (x *resultIndex) take(c Results, past *ledger.Past, e event.StepFinished) {
	x.mu.Lock()
	known := x.byKey[e.Action]
	x.mu.Unlock()
	if known == nil {
		g, err := outputs.Read[grading.Graded](x.ctx, c, e.Outputs["report"])
		if err != nil {
			x.mu.Lock()
			x.missing[e.Action] = true
			x.mu.Unlock()
			return
		}
		known = &result{Graded: g, Agent: cmp.Or(g.Labels["agent"], board.Unlabelled), Seed: g.Labels["seed"]}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byKey[e.Action] = known
	if past.Info.ID == known.Run {
		return
	}
	known.Runs++
	if past.Info.ID > known.Run {
		known.Run, known.Address, known.Time = past.Info.ID, e.Address, past.Info.Started
	}
}

// progress returns the progress of the index.
type progress struct {
	Done, Total, Missing int
	Ready                bool
}

// all returns the results in order of competition, agent and seed, and the number of
// unread runs.
func (x *resultIndex) all() ([]*result, progress) {
	x.begin()
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]*result, 0, len(x.byKey))
	for _, r := range x.byKey {
		one := *r
		out = append(out, &one)
	}
	slices.SortFunc(out, compareResults)
	return out, progress{Done: len(x.tallies), Total: x.total, Missing: len(x.missing), Ready: x.ready}
}

func compareResults(a, b *result) int {
	return cmp.Or(strings.Compare(a.CompetitionID, b.CompetitionID), board.CompareNames(a.Agent, b.Agent), results.CompareSeeds(a.Seed, b.Seed),
		strings.Compare(b.Run, a.Run), board.CompareNames(a.Address, b.Address))
}

// attempts returns all results and the attempts that ended without a grade in every run.
func (x *resultIndex) attempts() ([]*result, progress) {
	out, p := x.all()
	x.mu.Lock()
	defer x.mu.Unlock()
	seen := map[string]bool{}
	for _, t := range x.tallies {
		for _, action := range t.Solved {
			seen[action] = true
		}
	}
	for _, id := range slices.Backward(sortedKeys(x.tallies)) { // the newest run first
		for _, r := range x.tallies[id].Lone {
			if r.action == "" || !seen[r.action] {
				seen[r.action] = true
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, compareResults)
	return out, p
}
