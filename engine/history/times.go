package history

import (
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// Part is a part of the time of an agent's attempt.
type Part int

// The parts. In a moment in which an attempt does several things, it counts for the first
// of Model, GPU and Processor.
const (
	// Waiting: for its turn, for space or for a machine.
	Waiting Part = iota
	// Placing: its data and image are placed, or its results stored.
	Placing
	// Model: a request to a model is under way.
	Model
	// Processor: as many seconds as processors worked, at most all.
	Processor
	// GPU: the share of time in which the GPUs worked.
	GPU
	// Idle: none of these, although all of them were measured.
	Idle
	// Lost: tries of which nothing was left, as their machine died or failed.
	Lost
	// Unmeasured: the agent ran, and what it did was not measured.
	Unmeasured
	parts
)

// Share is a part of an attempt's time, and of the time of the GPUs leased to it.
type Share struct{ Time, GPUTime time.Duration }

// Times is where the time of an attempt went since its first start. Its parts add up.
type Times struct {
	// Measured reports of which parts something was measured. Of the others, time that may
	// be theirs is Unmeasured.
	Measured [parts]bool

	// kept has what counts, try the current try, and dead the tries of which nothing is
	// left so far.
	kept, try, dead [parts]Share
	// at is the time until which all is counted, now what the attempt does since, and last
	// the last report of a running agent.
	at   time.Time
	now  Part
	last step.Phase
	gpus int
}

// times returns the times of an instance that is an agent's attempt. What was before its
// first report is counted.
func (s *StepSummary) times() *Times {
	if s.Times != nil {
		return s.Times
	}
	s.Times = &Times{at: s.First, now: Placing, gpus: len(s.Devices)}
	if s.Started.After(s.First) {
		s.Times.died(s.Started)
	}
	if n := len(s.Spans); n > 0 {
		s.Times.now, s.Times.gpus = Waiting, s.Spans[n-1].GPUs
		s.Times.until(s.Spans[n-1].Start)
	}
	s.Times.now = Placing
	return s.Times
}

// addTime takes an event about the instance into account.
func (s *StepSummary) addTime(e event.Event) {
	switch e := e.(type) {
	case event.StepPhase:
		s.times().phase(e)
		return
	case event.StepStarted:
		if s.First.IsZero() {
			s.First = e.Time
		}
	}
	t := s.Times
	if t == nil {
		return
	}
	t.until(e.When())
	switch e := e.(type) {
	case event.StepStarted:
		t.now, t.gpus = Placing, len(e.Devices)
	case event.StepWaiting:
		t.now = Waiting
	case event.StepRetry:
		t.died(e.Time)
	case event.StepJob:
		t.gpus = max(t.gpus, e.GPUs)
		switch e.State {
		case event.JobQueued, event.JobPending:
			t.now = Waiting
		case event.JobEnded:
			t.died(e.Time)
		case event.JobRunning:
			if t.now == Waiting {
				t.now = Placing
			}
		}
	case event.StepFinished:
		if e.Status == event.Failed {
			t.died(e.Time)
		}
	}
}

// until counts the time until a moment for what the attempt does.
func (t *Times) until(at time.Time) { t.count(t.now, t.step(at)) }

// step moves on to a moment and returns the time since the last one, 0 if the clock was set
// back.
func (t *Times) step(at time.Time) time.Duration {
	d := max(0, at.Sub(t.at))
	t.at = t.at.Add(d)
	return d
}

func (t *Times) count(p Part, d time.Duration) {
	to := &t.try[p]
	if p == Waiting {
		to = &t.kept[p]
	} else {
		to.GPUTime += d * time.Duration(t.gpus)
	}
	to.Time += d
}

// died moves the current try to those of which nothing is left.
func (t *Times) died(at time.Time) {
	t.until(at)
	move(&t.dead, &t.try, 1, 1)
	t.now, t.last = Waiting, step.Phase{}
}

// move moves a part of shares from one place to another.
func move(to, from *[parts]Share, part, of time.Duration) {
	for i := range from {
		f := &from[i]
		moved := Share{scaled(f.Time, part, of), scaled(f.GPUTime, part, of)}
		to[i].Time, to[i].GPUTime = to[i].Time+moved.Time, to[i].GPUTime+moved.GPUTime
		f.Time, f.GPUTime = f.Time-moved.Time, f.GPUTime-moved.GPUTime
	}
}

func scaled(d, part, of time.Duration) time.Duration {
	if part >= of {
		return d
	}
	return time.Duration(float64(d) * (float64(part) / float64(of)))
}

// phase takes a report of the attempt into account.
func (t *Times) phase(e event.StepPhase) {
	switch {
	case t.last.Name == step.Running:
		t.sample(e)
	case e.Name == step.Running:
		t.until(e.Time)
		t.resumed(e.Time.Sub(e.Started))
	default:
		t.until(e.Time)
	}
	if t.now, t.last = Placing, e.Phase; e.Name == step.Running {
		t.now = Unmeasured
	}
}

// resumed gives back the time of dead tries from which the attempt goes on: its agent had
// worked that long before.
func (t *Times) resumed(before time.Duration) {
	var worked time.Duration
	for _, s := range t.dead[Model : Idle+1] {
		worked += s.Time
	}
	if worked += t.dead[Unmeasured].Time; worked <= 0 || before < time.Second {
		return
	}
	placing := t.dead[Placing]
	t.dead[Placing] = Share{}
	move(&t.kept, &t.dead, before, worked)
	t.dead[Placing] = placing
}

// sample divides the time since the last report by what was measured since.
func (t *Times) sample(e event.StepPhase) {
	d := t.step(e.Time)
	grown := func(now, was int64) time.Duration {
		if now < was { // it was counted from 0 again
			was = 0
		}
		return time.Duration(now-was) * time.Millisecond
	}
	rest := d
	take := func(p Part, n time.Duration, measured bool) {
		n = max(0, min(n, rest))
		t.count(p, n)
		t.Measured[p] = t.Measured[p] || measured
		rest -= n
	}
	// An agent that sleeps uses no processor, which is measured with the memory.
	processed := e.CPUMillis > 0 || e.MemoryBytes > 0 || t.last.MemoryBytes > 0
	modelled, gpu := e.ModelMillis > 0 || e.Requests == 0, e.GPUPercent > 0 || e.GPUMemoryBytes > 0
	take(Model, grown(e.ModelMillis, t.last.ModelMillis), e.ModelMillis > 0)
	take(GPU, d*time.Duration(min(e.GPUPercent, 100))/100, gpu)
	take(Processor, grown(e.CPUMillis, t.last.CPUMillis), processed)
	if processed && modelled && (gpu || t.gpus == 0) {
		take(Idle, rest, true)
	} else {
		take(Unmeasured, rest, false)
	}
}

// Shares returns the parts until a moment, or until the end if that was before. Those of
// which nothing was measured, and Lost without a loss, are zero.
func (t *Times) Shares(until time.Time) [parts]Share {
	all := *t
	all.until(until)
	for p := range parts {
		to := &all.kept[p]
		to.Time, to.GPUTime = to.Time+all.try[p].Time, to.GPUTime+all.try[p].GPUTime
		lost := &all.kept[Lost]
		lost.Time, lost.GPUTime = lost.Time+all.dead[p].Time, lost.GPUTime+all.dead[p].GPUTime
	}
	return all.kept
}

// String is the name of the part for people.
func (p Part) String() string {
	return []string{"waiting", "placing", "model", "processor", "gpu", "idle", "lost", "not measured"}[p]
}

// Parts lists the parts in order.
func Parts() []Part {
	return []Part{Waiting, Placing, Model, Processor, GPU, Idle, Lost, Unmeasured}
}
