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
	last    event.StepProgress
	samples []sample
}

type sample struct {
	at          time.Time
	done, bytes int64
}

// add takes in a report. Another piece of work, or one that began again, starts
// over. Work of the same total that goes on is the same, whatever file it is at.
func (r *rate) add(e event.StepProgress) {
	goesOn := e.Unit == r.last.Unit && e.Done >= r.last.Done && (e.What == r.last.What || e.Total > 0 && e.Total == r.last.Total)
	if !goesOn {
		r.samples = r.samples[:0]
	}
	r.last = e
	r.samples = append(r.samples, sample{e.Time, e.Done, e.Bytes})
	for len(r.samples) > 2 && e.Time.Sub(r.samples[1].at) >= rateWindow {
		r.samples = r.samples[1:]
	}
}

// perSecond returns the rates of what is done and of its bytes at a time, 0 while
// they cannot be told. Without reports they sink, so that a stall shows.
func (r *rate) perSecond(now time.Time) (done, bytes float64) {
	if len(r.samples) < 2 {
		return 0, 0
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	took := last.at.Sub(first.at)
	if idle := now.Sub(last.at); idle > 5*time.Second {
		took += idle
	}
	if took < 500*time.Millisecond {
		return 0, 0
	}
	return float64(last.done-first.done) / took.Seconds(), float64(last.bytes-first.bytes) / took.Seconds()
}

// rateText writes rates and the expected end: "12.0 MiB/s, 3m05s left", or "430
// files/s, 60.0 MiB/s".
func rateText(p event.StepProgress, r *rate, now time.Time) string {
	per, bytes := r.perSecond(now)
	if per <= 0 || p.Unit == "bytes" && per < 1 {
		return ""
	}
	var parts []string
	switch {
	case p.Unit == "bytes":
		parts = append(parts, Bytes(int64(per))+"/s")
	case per >= 1:
		parts = append(parts, amount(int64(per), p.Unit)+"/s")
	}
	if bytes >= 1 {
		parts = append(parts, Bytes(int64(bytes))+"/s")
	}
	if left := p.Total - p.Done; left > 0 {
		parts = append(parts, Duration(time.Duration(float64(left)/per*float64(time.Second)))+" left")
	}
	return strings.Join(parts, ", ")
}

// progressText writes how far a step is: "12 of 300 files, 1.2 GiB".
func progressText(p event.StepProgress) string {
	text := ProgressText(p.Done, p.Total, p.Unit)
	if p.Bytes > 0 {
		text += ", " + Bytes(p.Bytes)
	}
	return text
}
