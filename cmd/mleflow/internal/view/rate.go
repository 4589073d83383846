package view

import (
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/event"
)

// rateWindow is how far back a rate looks: long enough to be steady, short
// enough to tell when a connection became slow.
const rateWindow = 30 * time.Second

// rate is how fast a piece of work goes, from the reports on it.
type rate struct {
	what    string
	unit    string
	samples []sample
}

type sample struct {
	at   time.Time
	done int64
}

// add takes in a report. Another piece of work, or one that began again, starts
// over.
func (r *rate) add(e event.StepProgress) {
	if n := len(r.samples); n > 0 && (e.What != r.what || e.Unit != r.unit || e.Done < r.samples[n-1].done) {
		r.samples = r.samples[:0]
	}
	r.what, r.unit = e.What, e.Unit
	r.samples = append(r.samples, sample{e.Time, e.Done})
	for len(r.samples) > 2 && e.Time.Sub(r.samples[1].at) >= rateWindow {
		r.samples = r.samples[1:]
	}
}

// perSecond returns the rate at a time, 0 while it cannot be told. Without
// reports it sinks, so that a stall shows.
func (r *rate) perSecond(now time.Time) float64 {
	if len(r.samples) < 2 {
		return 0
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	took := last.at.Sub(first.at)
	if idle := now.Sub(last.at); idle > 5*time.Second {
		took += idle
	}
	if took < 500*time.Millisecond {
		return 0
	}
	return float64(last.done-first.done) / took.Seconds()
}

// rateText writes a rate and the expected end: "12.0 MiB/s, 3m05s left".
func rateText(p event.StepProgress, r *rate, now time.Time) string {
	per := r.perSecond(now)
	if p.Unit != "bytes" || per < 1 {
		return ""
	}
	parts := []string{Bytes(int64(per)) + "/s"}
	if left := p.Total - p.Done; left > 0 {
		parts = append(parts, Duration(time.Duration(float64(left)/per*float64(time.Second)))+" left")
	}
	return strings.Join(parts, ", ")
}
