package ui

import (
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// usePoints is the largest number of remembered measurements of an attempt. A journal
// has some thousand of a day.
const usePoints = 160

// useAt is a measurement of a running attempt.
type useAt struct {
	at          time.Duration
	memory, gpu int64
	cpu         time.Duration
	tokens      int64
}

// useOverTime is what an attempt used over time, in even steps, and the copies of its code so far.
type useOverTime struct {
	begun  time.Time
	points []useAt
	// every is the least distance of two points.
	every time.Duration
	code  []codeVersion
}

// add takes a measurement. If there are too many, every other is dropped, and from then
// on they are half as many.
func (u *useOverTime) add(e event.StepPhase) {
	if n := len(u.code); e.Code.Kind == cache.Tree && !e.Code.IsZero() && (n == 0 || u.code[n-1].ref != e.Code) {
		at := e.Time.Sub(e.Started)
		u.code = append(u.code, codeVersion{view.Duration(at), e.Code, at})
	}
	if e.Name != step.Running || e.Started.IsZero() {
		return
	}
	p := useAt{max(0, e.Time.Sub(e.Started)), e.MemoryBytes, e.GPUPercent, time.Duration(e.CPUMillis) * time.Millisecond, e.Spent.Tokens}
	if !e.Started.Equal(u.begun) { // another try
		*u = useOverTime{begun: e.Started, code: u.code}
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
func rates(points []useAt, of func(useAt) float64, per float64) (list []page.Sample) {
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

// codeVersion is the code at a time since the start of the agent.
type codeVersion struct {
	name string
	ref  cache.Ref
	at   time.Duration
}
