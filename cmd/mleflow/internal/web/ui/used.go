package ui

import (
	"context"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// lanes are what the attempt used and did over time.
func lanes(ctx context.Context, a *shownAttempt) []page.Lane {
	u := a.overTime(ctx)
	if u.begun.IsZero() {
		return nil
	}
	memory := page.Lane{Name: "memory", Write: func(v float64) string { return view.Bytes(int64(v)) }}
	cpu := page.Lane{Name: "CPUs", Write: func(v float64) string { return fmt.Sprintf("%.1f", v) }}
	gpu := page.Lane{Name: "GPU", Write: func(v float64) string { return fmt.Sprintf("%.0f %%", v) }}
	asked := page.Lane{Name: "tokens/min", Write: func(v float64) string { return view.Count(int64(v)) }}
	for _, p := range u.points {
		if p.memory > 0 {
			memory.Samples = append(memory.Samples, page.Sample{At: p.at, Value: float64(p.memory)})
		}
		if p.gpu > 0 || len(gpu.Samples) > 0 {
			gpu.Samples = append(gpu.Samples, page.Sample{At: p.at, Value: float64(p.gpu)})
		}
	}
	cpu.Samples = rates(u.points, func(p used) float64 { return p.cpu.Seconds() }, 1)
	asked.Samples = rates(u.points, func(p used) float64 { return float64(p.tokens) }, 60)
	var out []page.Lane
	for _, l := range []page.Lane{memory, cpu, gpu, asked} {
		if len(l.Samples) > 1 {
			last := u.points[len(u.points)-1].at
			l.Samples = append(l.Samples, page.Sample{At: last, Value: l.Samples[len(l.Samples)-1].Value})
			out = append(out, l)
		}
	}
	for _, l := range []page.Lane{validityLane(ctx, a, u.begun), codeLane(ctx, a)} {
		if len(l.Events) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// overTime is what the attempt used over time, from the run that executed it.
func (a *shownAttempt) overTime(ctx context.Context) *usage {
	if a.usage != nil {
		return a.usage
	}
	past, _, missing := a.executedBy()
	if missing != "" || past == a.past {
		return &usage{}
	}
	u := &usage{}
	for e, err := range past.Events() {
		if err != nil || ctx.Err() != nil {
			break
		}
		if p, ok := e.(event.StepPhase); ok && p.Address == a.address {
			u.add(p)
		}
	}
	return u
}

// usePoints is the largest number of remembered measurements of an attempt. A journal
// has some thousand of a day.
const usePoints = 160

// used is a measurement of a running attempt.
type used struct {
	at          time.Duration
	memory, gpu int64
	cpu         time.Duration
	tokens      int64
}

// usage is what an attempt used over time, in even steps, and the copies of its code so far.
type usage struct {
	begun  time.Time
	points []used
	// every is the least distance of two points.
	every time.Duration
	code  []version
}

// add takes a measurement. If there are too many, every other is dropped, and from then
// on they are half as many.
func (u *usage) add(e event.StepPhase) {
	if n := len(u.code); e.Code.Kind == cache.Tree && !e.Code.IsZero() && (n == 0 || u.code[n-1].ref != e.Code) {
		at := e.Time.Sub(e.Started)
		u.code = append(u.code, version{view.Duration(at), e.Code, at})
	}
	if e.Name != step.Running || e.Started.IsZero() {
		return
	}
	p := used{max(0, e.Time.Sub(e.Started)), e.MemoryBytes, e.GPUPercent, time.Duration(e.CPUMillis) * time.Millisecond, e.Spent.Tokens}
	if !e.Started.Equal(u.begun) { // another try
		*u = usage{begun: e.Started, code: u.code}
	}
	if n := len(u.points); n > 0 && p.at-u.points[n-1].at < u.every {
		return
	}
	if u.points = append(u.points, p); len(u.points) < usePoints {
		return
	}
	for i := range usePoints / 2 {
		u.points[i] = u.points[2*i]
	}
	u.points = u.points[:usePoints/2]
	u.every = (p.at - u.points[0].at) / (usePoints / 2)
}

// measured is how often runtimes measure, apart the time after which an amount that did
// not grow was measured again. A report in between, such as that of a submission, repeats
// the amounts of the last measurement.
const measured, apart = 2 * time.Second, 5 * time.Second

// rates are how fast an amount grew, per so many seconds, from each measurement to the
// next.
func rates(points []used, of func(used) float64, per float64) (list []page.Sample) {
	if len(points) == 0 {
		return nil
	}
	from := points[0]
	for _, p := range points[1:] {
		took, grown := p.at-from.at, max(0, of(p)-of(from))
		if took < measured || grown == 0 && took < apart || of(p) == 0 {
			continue
		}
		list, from = append(list, page.Sample{At: from.at, Value: grown / took.Seconds() * per}), p
	}
	return list
}

// validityLane are the questions to the validity server.
func validityLane(ctx context.Context, a *shownAttempt, begun time.Time) page.Lane {
	l := page.Lane{Name: "validity"}
	text, _ := a.blob(ctx, "validation_log", maxJournal)
	for v := range jsonLines[validity.Call](text) {
		if v.Time.Before(begun) || len(l.Events) >= maxLines {
			continue
		}
		e := page.Event{At: v.Time.Sub(begun), Text: "valid", Link: a.link("checks")}
		if !v.Valid {
			e.Text, e.Bad = oneLine("invalid: "+v.Reason+v.Error, 200), true
		}
		l.Events = append(l.Events, e)
	}
	return l
}

// codeLane are the copies of the code.
func codeLane(ctx context.Context, a *shownAttempt) page.Lane {
	l := page.Lane{Name: "code"}
	all, _ := a.copies(ctx)
	for i, v := range all {
		if i > 0 && v.at != atEnd {
			l.Events = append(l.Events, page.Event{At: v.at, Text: "what changed in the code", Link: a.codeChange(all[i-1], v)})
		}
	}
	return l
}
