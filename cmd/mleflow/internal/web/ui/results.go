package ui

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/lockfile"
)

// resultIndex knows the attempts of all runs. It is built in the background, newest run
// first.
type resultIndex struct {
	src Source
	// begin starts to read, if nobody has.
	begin func()

	mu   sync.Mutex
	runs map[string]*indexedRun
	// reports are by the key of the step that graded.
	reports map[string]grading.Graded
	// total is the number of runs, done that of ended ones that were read.
	total, done int
	ready       bool
	// missing are the steps whose reports are no longer in the cache.
	missing map[string]bool
	// ended are the distinct attempts of ended runs that were taken together, fresh those of
	// runs read since, and live those of runs that go on.
	ended, fresh []*results.Attempt
	live         map[string][]*results.Attempt
	shown        *snapshot

	// programs are by the key of the attempt, and causes by the run and the step that has
	// the log.
	programs, causes sync.Map
}

// snapshot is the attempts of all runs at a moment. Nobody changes it.
type snapshot struct {
	// all are those that have ended, graded those of them whose reports could be read, both
	// in the order of results.Sort.
	all, graded []*results.Attempt
	// newest is the newest program of each agent.
	newest map[string]string
}

// indexedRun is a run in the index.
type indexedRun struct {
	mu sync.Mutex
	// attempts reads those of a run that goes on; nil of another.
	attempts *runAttempts
	tally    runTally
	// known means that the run has ended and was read, done that its reports were, too.
	known, done bool
}

func newResultIndex(ctx context.Context, src Source) *resultIndex {
	x := &resultIndex{src: src, runs: map[string]*indexedRun{}, reports: map[string]grading.Graded{},
		missing: map[string]bool{}, live: map[string][]*results.Attempt{}}
	x.begin = sync.OnceFunc(func() { go x.run(ctx) })
	return x
}

// refreshEvery is the interval at which new and running runs are read.
const refreshEvery = 3 * time.Second

// run keeps the index up to date until the context ends.
func (x *resultIndex) run(ctx context.Context) {
	for {
		_ = x.src.Results(nil, func(c Results) error { // what cannot be read is read next time
			x.refresh(ctx, c)
			return nil
		})
		x.mu.Lock()
		x.ready = true
		x.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(refreshEvery):
		}
	}
}

func (x *resultIndex) refresh(ctx context.Context, c Results) {
	ids, err := x.src.History.IDs()
	if err != nil {
		return
	}
	x.mu.Lock()
	x.total = len(ids)
	x.mu.Unlock()
	for _, id := range ids {
		if ctx.Err() != nil {
			return
		}
		x.tally(ctx, c, id)
	}
}

// tally returns the counts of a run, as they are now. With a cache, it enters its attempts in
// the index; without, only the reports that are known have a say.
func (x *resultIndex) tally(ctx context.Context, c Results, id string) runTally {
	x.mu.Lock()
	run := x.runs[id]
	if run == nil {
		run = &indexedRun{}
		x.runs[id] = run
	}
	x.mu.Unlock()
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.done || run.known && c == nil {
		return run.tally
	}
	past, err := x.src.History.Open(id)
	if err != nil {
		return tallyOf(nil)
	}
	ended := !past.Running() // before the journal is read
	if run.attempts == nil {
		run.attempts = x.open(past, ended)
	}
	list, changed := x.read(ctx, c, run.attempts, ended)
	if changed {
		run.tally = tallyOf(list)
	}
	if run.known, run.done = ended, ended && c != nil; ended {
		run.attempts = nil
	}
	if c != nil {
		x.enter(id, list, ended, changed)
	}
	return run.tally
}

// enter enters the attempts of a run.
func (x *resultIndex) enter(id string, list []*results.Attempt, ended, changed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case ended:
		x.fresh = append(x.fresh, list...)
		delete(x.live, id)
		x.shown, x.done = nil, x.done+1
	case changed || x.live[id] == nil:
		x.live[id], x.shown = list, nil
	}
}

// runAttempts reads the attempts of a run.
type runAttempts struct {
	attempts.Journal
	// watch and sums follow a run that goes on; nil of one that has ended.
	watch *history.Watch
	sums  *history.Summariser
	// list are the attempts that were read last, whole means that all reports were.
	list  []*results.Attempt
	whole bool
}

// open reads the plan and the journal of a run.
func (x *resultIndex) open(past *history.Past, ended bool) *runAttempts {
	p, _ := past.Plan() // without it, keys tell what belongs together
	sum := &history.Summary{}
	r := &runAttempts{}
	if ended {
		if all, err := past.Summary(conditions.AttemptKind, conditions.GradeKind); err == nil {
			sum = all
		}
	}
	r.Journal = attempts.JournalOf(p, sum)
	r.Run = past.Info
	r.Catalog, _ = x.src.Catalog(nil) // without it, keys tell the names
	if !ended {
		r.watch, r.sums = past.Watch(), past.Summarise()
		r.Step = r.sums.Step
	}
	return r
}

// read returns the attempts of a run as they are now, with the reports that are known or that
// the cache has, the programs of the agents, and the causes in the logs. It also reports
// whether anything changed since the last time.
func (x *resultIndex) read(ctx context.Context, c Results, r *runAttempts, ended bool) (list []*results.Attempt, changed bool) {
	if r.sums != nil {
		events, _ := r.watch.Next() // what cannot be read now is read next time
		if len(events) == 0 && r.list != nil && r.whole && !ended {
			return r.list, false
		}
		for _, e := range events {
			r.sums.Add(e)
			if act, ok := e.(event.Steered); ok {
				r.Steered = append(r.Steered, act)
			}
		}
		if r.Names == nil { // no plan says what the pairs are
			r.Pairs = attempts.Unplanned(r.sums.Summary())
		}
	}
	r.Live, r.Reports, r.whole = !ended, map[string]grading.Graded{}, true
	for _, p := range r.Pairs {
		if s := r.Step(p.Grade); s != nil && s.Outputs["report"] != "" {
			g, ok := x.report(ctx, c, s)
			if r.whole = r.whole && ok; ok {
				r.Reports[p.Grade] = g
			}
		}
	}
	r.list = r.List()
	for _, a := range r.list {
		a.Program = x.program(ctx, c, a.AttemptAction)
	}
	x.explain(r.list, len(r.list))
	return r.list, true
}

// report returns the report of a step, from the cache if it is not known.
func (x *resultIndex) report(ctx context.Context, c Results, s *history.StepSummary) (g grading.Graded, ok bool) {
	if g, ok = x.known(s.Action); ok || c == nil {
		return g, ok
	}
	g, err := outputs.Read[grading.Graded](ctx, c, s.Outputs["report"])
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.missing[s.Action] = true
		return g, false
	}
	delete(x.missing, s.Action)
	x.reports[s.Action] = g
	return g, true
}

// known returns the report of a grade step with a key, if it was read.
func (x *resultIndex) known(action string) (g grading.Graded, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	g, ok = x.reports[action]
	return g, ok
}

// program returns the agent's program in an attempt; "" if the cache does not have its record.
func (x *resultIndex) program(ctx context.Context, c Results, action string) string {
	if known, ok := x.programs.Load(action); ok {
		return known.(string)
	}
	if action == "" || c == nil {
		return ""
	}
	program := ""
	if rec, err := outputs.Lookup(ctx, c, action); err == nil {
		program = results.ProgramOf(lockfile.Inputs(rec.Fields))
	}
	x.programs.Store(action, program)
	return program
}

// causeBytes is the length to which a cause is cut.
const causeBytes = 400

// explain enters what the ends of logs tell of attempts, as package attempts does. It reads
// at most so many logs, each once.
func (x *resultIndex) explain(list []*results.Attempt, most int) {
	for _, a := range list {
		if !a.LogTells() || a.Log != "" {
			continue
		}
		key := [2]string{a.RunID, a.Address}
		if a.MadeIn != "" {
			key[0] = a.MadeIn
		}
		cause := ""
		if known, ok := x.causes.Load(key); ok {
			cause = known.(string)
		} else if most > 0 {
			most--
			if past, err := x.src.History.Open(key[0]); err == nil {
				cause, _ = view.Excerpt(past.Tail(key[1], view.TailLines))
				cause = strings.ToValidUTF8(cause[:min(len(cause), causeBytes)], "")
			}
			x.causes.Store(key, cause)
		}
		a.Log = cause
	}
}

// progress returns the progress of the index.
type progress struct {
	Done, Total, Missing int
	Ready                bool
}

// now returns the attempts of all runs and how many runs are read.
func (x *resultIndex) now() (*snapshot, progress) {
	x.begin()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.shown == nil {
		x.shown = x.take()
	}
	return x.shown, progress{Done: x.done + len(x.live), Total: x.total, Missing: len(x.missing), Ready: x.ready}
}

// take takes the attempts of all runs together, each once.
func (x *resultIndex) take() *snapshot {
	if len(x.fresh) > 0 {
		x.ended, x.fresh = results.Distinct(append(x.ended, x.fresh...)), nil
	}
	list := slices.Clone(x.ended)
	if len(x.live) > 0 {
		list = results.Distinct(append(list, slices.Concat(slices.Collect(maps.Values(x.live))...)...))
	}
	results.Sort(list)
	return &snapshot{
		newest: results.Newest(list),
		all: lists.Where(list, func(a *results.Attempt) bool {
			return a.Phase == results.Done || a.Phase == results.Failed || a.Phase == results.Interrupted
		}),
		graded: lists.Where(list, func(a *results.Attempt) bool { _, ok := x.reports[a.GradeAction]; return ok }),
	}
}

func byCompetition(list []*results.Attempt) map[string][]*results.Attempt {
	return lists.By(list, (*results.Attempt).Competition)
}

// scoresOf are the scores of attempts that are numbers.
func scoresOf(list []*results.Attempt) (out []float64) {
	for _, a := range list {
		if s := a.Report.ExactScore; s != nil && !math.IsNaN(float64(*s)) && !math.IsInf(float64(*s), 0) {
			out = append(out, float64(*s))
		}
	}
	return out
}
