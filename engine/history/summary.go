package history

import (
	"bytes"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache"
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
	Address string
	Kind    string
	// Status is empty while the instance runs. It stays empty if the run is
	// killed meanwhile.
	Status  event.Status
	Action  string
	LastTry int
	// Started is the start of the last try, or zero if there was none.
	// Ended is the end of the instance.
	Started, Ended time.Time
	Duration       time.Duration
	Devices        []string
	Error          string
	Outputs        map[string]string
	Conditions     []string
	Tries          *cache.Tries
	// MadeIn is the run that executed a cached step.
	MadeIn  string
	Retries []event.StepRetry
	// On and Node are the backend and the node of the last try, if it did
	// not run on the run's own machine. Spans are the periods in which its
	// workers ran.
	On, Node string
	Spans    []Span
	// FetchedBytes and StoredBytes are the amounts transferred from and to the
	// remote cache for it there.
	FetchedBytes, StoredBytes int64
}

// Finished returns the event that ended the instance, without its time.
func (s *StepSummary) Finished() event.StepFinished {
	return event.StepFinished{Address: s.Address, Kind: s.Kind, Status: s.Status, Action: s.Action, LastTry: s.LastTry,
		DurationMillis: s.Duration.Milliseconds(), Error: s.Error, Outputs: s.Outputs, Conditions: s.Conditions, Tries: s.Tries, MadeIn: s.MadeIn,
		On: s.On, Node: s.Node, FetchedBytes: s.FetchedBytes, StoredBytes: s.StoredBytes}
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
		return now.Sub(of.Started)
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
	for line, err := range p.lines() {
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
		s.Started, s.LastTry, s.Devices = e.Time, e.Try, e.Devices
	case event.StepJob:
		b.step(e.Address, "").job(e)
	case event.StepRetry:
		s := b.step(e.Address, "")
		s.stop(e.Time)
		s.Retries = append(s.Retries, e)
	case event.StepFinished:
		s := b.step(e.Address, e.Kind)
		s.Status, s.Action, s.Ended = e.Status, e.Action, e.Time
		s.LastTry = max(s.LastTry, e.LastTry)
		s.Duration = time.Duration(e.DurationMillis) * time.Millisecond
		s.Error, s.Outputs, s.Conditions, s.Tries, s.MadeIn = e.Error, e.Outputs, e.Conditions, e.Tries, e.MadeIn
		s.stop(e.Time)
		if e.On != "" {
			s.On, s.Node, s.FetchedBytes, s.StoredBytes = e.On, e.Node, e.FetchedBytes, e.StoredBytes
		}
	}
}

func (b *Summariser) step(address, kind string) *StepSummary {
	i, ok := b.index[address]
	if !ok {
		i = len(b.sum.Steps)
		b.index[address] = i
		b.sum.Steps = append(b.sum.Steps, StepSummary{Address: address})
	}
	if kind != "" {
		b.sum.Steps[i].Kind = kind
	}
	return &b.sum.Steps[i]
}
