package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/mleflow/mleflow/engine/event"
)

// Span is a period in which a worker of a step ran on a node.
type Span struct {
	On, Node   string
	Start, End time.Time
	GPUs       int
}

// job records a change of the job of a try.
func (s *StepSummary) job(e event.StepJob) {
	s.On = e.On
	if n := len(s.Spans); n > 0 && s.Spans[n-1].End.IsZero() {
		if last := &s.Spans[n-1]; e.State == event.JobRunning && last.Node == e.Node {
			return
		}
		s.Spans[n-1].End = e.Time
	}
	if e.State == event.JobRunning {
		s.Node = e.Node
		s.Spans = append(s.Spans, Span{On: e.On, Node: e.Node, Start: e.Time, GPUs: e.GPUs})
	}
}

// stop ends the open span.
func (s *StepSummary) stop(at time.Time) {
	if n := len(s.Spans); n > 0 && s.Spans[n-1].End.IsZero() {
		s.Spans[n-1].End = at
	}
}

// spans returns the periods, with an empty one at the end for a worker that was too fast
// to be seen running.
func (s *StepSummary) spans() []Span {
	here := func(span Span) bool { return span.On == s.On && span.Node == s.Node }
	if s.Status != event.Ran || s.Node == "" || slices.ContainsFunc(s.Spans, here) {
		return s.Spans
	}
	return append(slices.Clip(s.Spans), Span{On: s.On, Node: s.Node, Start: s.Ended, End: s.Ended})
}

// NodeUse is a run's use of a node.
type NodeUse struct {
	On   string `json:"on"`
	Node string `json:"node"`
	// Steps is the number of steps that ran there. Spans are their periods, by
	// start.
	Steps int    `json:"steps"`
	Spans []Span `json:"-"`
	// First is the start of the first span and Last the end of the last one.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// GPUs is the maximum number used at a time. GPUTime is the sum over steps
	// and GPUs. IdleGPUTime is the time between First and Last in which those
	// GPUs were idle.
	GPUs        int           `json:"gpus,omitempty"`
	GPUTime     time.Duration `json:"-"`
	IdleGPUTime time.Duration `json:"-"`
	// FetchedBytes and StoredBytes are the amounts transferred from and to the
	// remote cache.
	FetchedBytes int64 `json:"fetched_bytes"`
	StoredBytes  int64 `json:"stored_bytes"`
}

// Nodes returns the run's use of cluster nodes, by backend and name, or nil if
// it used none.
func (s *Summary) Nodes() []NodeUse {
	type key struct{ on, node string }
	uses := map[key]*NodeUse{}
	for i := range s.Steps {
		step := &s.Steps[i]
		seen := map[key]bool{}
		for _, span := range step.spans() {
			if span.End.IsZero() {
				span.End = s.Last
			}
			if span.End.Before(span.Start) {
				span.End = span.Start
			}
			k := key{span.On, span.Node}
			u := uses[k]
			if u == nil {
				u = &NodeUse{On: span.On, Node: span.Node, First: span.Start, Last: span.End}
				uses[k] = u
			}
			if !seen[k] {
				seen[k] = true
				u.Steps++
			}
			u.add(span)
		}
		if u := uses[key{step.On, step.Node}]; u != nil {
			u.FetchedBytes += step.FetchedBytes
			u.StoredBytes += step.StoredBytes
		}
	}
	var list []NodeUse
	for _, u := range uses {
		u.finish()
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b NodeUse) int { return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Node, b.Node)) })
	return list
}

func (u *NodeUse) add(s Span) {
	u.Spans = append(u.Spans, s)
	if s.Start.Before(u.First) {
		u.First = s.Start
	}
	if s.End.After(u.Last) {
		u.Last = s.End
	}
	u.GPUTime += time.Duration(s.GPUs) * s.End.Sub(s.Start)
}

// finish computes the maximum number of GPUs at a time, and their idle time.
func (u *NodeUse) finish() {
	slices.SortFunc(u.Spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	type change struct {
		at   time.Time
		gpus int
	}
	var changes []change
	for _, s := range u.Spans {
		changes = append(changes, change{s.Start, s.GPUs}, change{s.End, -s.GPUs})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.gpus, b.gpus)) })
	now := 0
	for _, c := range changes {
		now += c.gpus
		u.GPUs = max(u.GPUs, now)
	}
	u.IdleGPUTime = max(0, time.Duration(u.GPUs)*u.Last.Sub(u.First)-u.GPUTime)
}
