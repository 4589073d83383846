package view

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mleflow/mleflow/engine/event"
)

// rateWindow is the time over which a rate is averaged: long enough to be steady, short
// enough to show that a connection became slow.
const rateWindow = 30 * time.Second

// rate computes the speed of a piece of work from its reports.
type rate struct {
	last    event.StepProgress
	samples []sample
}

type sample struct {
	at          time.Time
	done, bytes int64
}

// add adds a report. Other work, or work that began again, resets the rate. Reports with
// the same total and a growing count are the same work, whatever file they name.
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

// perSecond returns the rates of the count and of the bytes at a time, 0 while they are
// unknown. Without reports they fall, so that a stall shows.
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
	if per <= 0 && bytes < 1 || p.Unit == "bytes" && per < 1 {
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
	if left := secondsLeft(p, per, bytes); left > 0 {
		parts = append(parts, Duration(time.Duration(left*float64(time.Second)))+" left")
	}
	return strings.Join(parts, ", ")
}

// secondsLeft estimates the time to the end, 0 if unknown. Sizes predict it better than
// counts, because one file may be as large as all others.
func secondsLeft(p event.StepProgress, per, bytes float64) float64 {
	switch {
	case p.TotalBytes > 0 && bytes >= 1:
		return float64(p.TotalBytes-p.Bytes) / bytes
	case p.Total > p.Done && per > 0:
		return float64(p.Total-p.Done) / per
	}
	return 0
}

// progressText writes the progress of a step: "12 of 300 files, 1.2 GiB".
func progressText(p event.StepProgress) string {
	if p.Unit == "" { // nothing countable
		return ""
	}
	text := ProgressText(p.Done, p.Total, p.Unit)
	if p.Bytes > 0 {
		text += ", " + ProgressText(p.Bytes, p.TotalBytes, "bytes")
	}
	return text
}

// Work is the progress of a command outside a run.
type Work struct {
	event.StepProgress
	// Found and FoundBytes are the parts of Done and Bytes that were already there.
	Found, FoundBytes int64
}

// Pace writes the progress and the speed of work.
type Pace struct{ rate rate }

// Line returns the state of the work at its time, cut to a width unless that is 0: "push:
// 12 of 300 files, 1.2 GiB of 4.0 GiB (430 files/s, 60.0 MiB/s, 47.0s left)".
func (p *Pace) Line(name string, w Work, width int) string {
	now := w.StepProgress
	now.Done, now.Bytes = w.Done-w.Found, w.Bytes-w.FoundBytes
	p.rate.add(now)
	text := name + ": " + progressText(w.StepProgress)
	if w.What != "" {
		text += " " + OneLine(w.What)
	}
	if rate := rateText(w.StepProgress, &p.rate, w.Time); rate != "" {
		text += " (" + rate + ")"
	}
	if width > 0 {
		text = ansi.Truncate(text, width-1, "…")
	}
	return text
}
