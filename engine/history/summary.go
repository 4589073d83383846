package history

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/mleflow/mleflow/engine/event"
)

// Summary is the content of a journal by step.
type Summary struct {
	Entry
	event.Run
	// Steps are the instances in order of first appearance.
	Steps []StepSummary
	// Unreadable is the number of complete lines that are not known events,
	// because a newer version wrote them or they are damaged.
	Unreadable int
}

// StepSummary is the history of an instance.
type StepSummary struct {
	// StepFinished is the event that ended the instance, without its time. Its Status is
	// empty while the instance runs, and stays empty if the run is killed meanwhile.
	// LastTry, On and Node are also known before.
	event.StepFinished
	// Started is the start of the last try, or zero if there was none.
	// Ended is the end of the instance.
	Started, Ended time.Time
	Duration       time.Duration
	Devices        []string
	Retries        []event.StepRetry
	// Spans are the periods in which its workers ran.
	Spans []Span
	// Times is where the time of an agent's attempt went, nil of other steps.
	Times *Times
	// First is the start of the first try.
	First time.Time
}

// Took is the time from the start of an instance's last try to its end or, of one
// without an end, to now if the run lives, and else to the run's last sign of life.
func (s *Summary) Took(of *StepSummary, now time.Time) time.Duration {
	switch {
	case of.Started.IsZero():
		return of.Duration
	case of.Status == "" && s.State != Running:
		return max(0, s.Last.Sub(of.Started))
	case of.Status == "":
		return max(0, now.Sub(of.Started)) // the clock may have been set back
	case of.Ended.After(of.Started):
		return of.Ended.Sub(of.Started)
	}
	return of.Duration
}

// StatusOf returns the status of an instance or, if it has none yet, whether it runs,
// waits, was interrupted or never started. An instance of which nothing happened is nil.
func (s *Summary) StatusOf(of *StepSummary) string {
	switch live := s.State == Running; {
	case of != nil && of.Status != "":
		return string(of.Status)
	case of != nil && !of.Started.IsZero() && live:
		return string(Running)
	case of != nil && !of.Started.IsZero():
		return string(Interrupted)
	case live:
		return "waiting"
	}
	return "not started"
}

// Step returns the summary of an instance, or nil.
func (s *Summary) Step(address string) *StepSummary {
	for i := range s.Steps {
		if s.Steps[i].Address == address {
			return &s.Steps[i]
		}
	}
	return nil
}

// Summary reads the journal. Given kinds, it leaves out the ends of steps of others,
// which makes it fast.
func (p *Past) Summary(kinds ...string) (*Summary, error) {
	b, marks := p.Summarise(), marksOf(kinds)
	for line, err := range p.lines(new(int64)) {
		if err != nil {
			return nil, err
		}
		if kinds != nil && bytes.HasPrefix(line, finished) && !marked(line, marks) {
			continue
		}
		e, err := event.Decode(line)
		if err != nil {
			b.sum.Unreadable++
			continue
		}
		b.Add(e)
	}
	return b.sum, nil
}

// Summariser builds a Summary from events as they arrive.
type Summariser struct {
	past  *Past
	sum   *Summary
	index map[string]int
}

// Summarise returns a Summariser of the run without events.
func (p *Past) Summarise() *Summariser {
	return &Summariser{past: p, sum: &Summary{Entry: p.Entry()}, index: map[string]int{}}
}

// Summary returns the summary of the events so far, with the current state of
// the run. The next event changes it.
func (b *Summariser) Summary() *Summary {
	b.sum.Entry = b.past.Entry()
	return b.sum
}

// Step returns the summary of an instance so far, or nil.
func (b *Summariser) Step(address string) *StepSummary {
	if i, ok := b.index[address]; ok {
		return &b.sum.Steps[i]
	}
	return nil
}

// Add adds the next event of the run.
func (b *Summariser) Add(e event.Event) {
	b.sum.Apply(e)
	switch e := e.(type) {
	case event.RunStarted:
		b.sum.Steps = slices.Grow(b.sum.Steps, min(max(0, e.Steps), 1<<16))
	case event.StepStarted:
		s := b.step(e.Address, e.Kind)
		s.addTime(e)
		s.Started, s.LastTry, s.Devices = e.Time, e.Try, e.Devices
	case event.StepPhase:
		b.step(e.Address, "").addTime(e)
	case event.StepWaiting:
		b.step(e.Address, "").addTime(e)
	case event.StepJob:
		s := b.step(e.Address, "")
		s.addTime(e)
		s.job(e)
	case event.StepRetry:
		s := b.step(e.Address, "")
		s.addTime(e)
		s.stop(e.Time)
		s.Retries = append(s.Retries, e)
	case event.StepFinished:
		s := b.step(e.Address, e.Kind)
		s.addTime(e)
		s.end(e)
	}
}

func (b *Summariser) step(address, kind string) *StepSummary {
	i, ok := b.index[address]
	if !ok {
		i = len(b.sum.Steps)
		b.index[address] = i
		b.sum.Steps = append(b.sum.Steps, StepSummary{StepFinished: event.StepFinished{Address: address}})
	}
	if kind != "" {
		b.sum.Steps[i].Kind = kind
	}
	return &b.sum.Steps[i]
}

// Span is a period in which a worker of a step ran on a node.
type Span struct {
	On, Node   string
	Start, End time.Time
	GPUs       int
}

// job records a change of the job of a try.
func (s *StepSummary) job(e event.StepJob) {
	s.On = e.On
	if n := len(s.Spans); n > 0 && s.Spans[n-1].End.IsZero() && e.State == event.JobRunning && s.Spans[n-1].Node == e.Node {
		return
	}
	s.stop(e.Time)
	if e.State == event.JobRunning {
		s.Node = e.Node
		s.Spans = append(s.Spans, Span{On: e.On, Node: e.Node, Start: e.Time, GPUs: e.GPUs})
	}
}

// end records the end of the instance.
func (s *StepSummary) end(e event.StepFinished) {
	was := s.StepFinished
	s.stop(e.Time)
	s.Ended, s.Duration = e.Time, time.Duration(e.DurationMillis)*time.Millisecond
	e.At, e.Kind, e.LastTry = event.At{}, s.Kind, max(was.LastTry, e.LastTry)
	if e.On == "" {
		e.On, e.Node, e.FetchedBytes, e.StoredBytes = was.On, was.Node, was.FetchedBytes, was.StoredBytes
	}
	s.StepFinished = e
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
