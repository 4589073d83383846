package view

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/dustin/go-humanize"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// Bytes writes a size in binary units: "512 B", "1.5 GiB".
func Bytes(n int64) string {
	if n < 1024 && n > -1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	value := float64(n)
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := -1
	for (value >= 1024 || value <= -1024) && i < len(units)-1 {
		value /= 1024
		i++
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + units[i]
}

// Duration writes a duration for people: "0.42s", "12.3s", "4m05s", "2h03m".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-max(d, -math.MaxInt64)) // the least has no opposite
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + "s"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Seconds is a duration in seconds that may be none: 0 if it is not a number, negative or too
// long.
func Seconds(s float64) time.Duration {
	if math.IsNaN(s) || s < 0 || s > 1e9 {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// Millis is Duration for whole milliseconds.
func Millis(ms int64) string { return Duration(time.Duration(ms) * time.Millisecond) }

// clock writes a running time to the second: "0:07", "1:02:30".
func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Roughly writes an estimated duration: "45s", "59m", "1h02m".
func Roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds()))
	case d.Round(time.Minute) < time.Hour:
		return fmt.Sprintf("%dm", int(d.Round(time.Minute).Minutes()))
	}
	return Duration(d.Round(time.Minute))
}

// Count writes a number with thousands separated by commas.
func Count(n int64) string { return humanize.Comma(n) }

// Score writes a score for people: all its digits, with an exponent only if it is huge or
// tiny.
func Score(v float64) string {
	if size := math.Abs(v); size >= 1e21 || size < 1e-6 && v != 0 {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Plural writes a count and its noun: "1 step", "2,000 steps".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}

// Verb is Plural with a verb for one or for many: "1 step is", "2 steps are".
func Verb(n int, noun, one, many string) string {
	if n == 1 {
		many = one
	}
	return Plural(n, noun) + " " + many
}

// Known writes a number that may be missing; it returns none for nil.
func Known(v *float64, none string, write func(float64) string) string {
	if v == nil {
		return none
	}
	return write(*v)
}

// After returns the text after a separator; "" for an empty text.
func After(separator, text string) string { return When(text != "", separator+text) }

// Either returns yes if the condition holds, else no. Both are evaluated.
func Either[T any](is bool, yes, no T) T {
	if is {
		return yes
	}
	return no
}

// When returns the text if the condition holds, else "". The text is evaluated in any case.
func When(is bool, text string) string { return Either(is, text, "") }

// bracketed returns the text in brackets after a space; "" for an empty text.
func bracketed(text string) string { return When(text != "", " ("+text+")") }

// Parts are the parts of a sentence or a line.
type Parts []string

// If adds a part if the condition holds.
func (p *Parts) If(is bool, text string) {
	if is {
		*p = append(*p, text)
	}
}

// Count adds a number of things, such as "3 failed", unless it is 0.
func (p *Parts) Count(n int, what string) { p.If(n > 0, fmt.Sprintf("%d %s", n, what)) }

// Join joins the parts with a separator.
func (p Parts) Join(separator string) string { return strings.Join(p, separator) }

// amount writes an amount of a unit: sizes in binary units, else a count.
func amount(n int64, unit string) string {
	if unit == "bytes" {
		return Bytes(n)
	}
	return strings.TrimSpace(Count(n) + " " + unit)
}

// ProgressText writes "3 of 10 files", "1.0 MiB of 2.0 MiB" or, without a
// total, "3 files".
func ProgressText(done, total int64, unit string) string {
	if total <= 0 {
		return amount(done, unit)
	}
	if unit == "bytes" {
		return Bytes(done) + " of " + Bytes(total)
	}
	return Count(done) + " of " + amount(total, unit)
}

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
	var parts Parts
	parts.If(p.Unit == "bytes" || per >= 1, amount(int64(per), p.Unit)+"/s")
	parts.If(bytes >= 1, Bytes(int64(bytes))+"/s")
	left := secondsLeft(p, per, bytes)
	parts.If(left > 0, Duration(time.Duration(left*float64(time.Second)))+" left")
	return parts.Join(", ")
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
	text := Parts{ProgressText(p.Done, p.Total, p.Unit)}
	text.If(p.Bytes > 0, ProgressText(p.Bytes, p.TotalBytes, "bytes"))
	return text.Join(", ")
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
	text := name + ": " + progressText(w.StepProgress) + After(" ", OneLine(w.What)) + bracketed(rateText(w.StepProgress, &p.rate, w.Time))
	if width > 0 {
		text = ansi.Truncate(text, width-1, "…")
	}
	return text
}

// PhaseText describes the phase of an agent's attempt and its progress: "placing data 3
// of 9 files, 1.0 MiB of 2.0 MiB", "unpacking the image 1.0 MiB of 2.0 MiB", "0:20 of
// 24:00:00, 1.5 GiB, 12,345 tokens, $1.25, submission valid".
func PhaseText(p step.Phase, now time.Time) string {
	switch p.Name {
	case step.Placing:
		return "placing data " + contentDone(p)
	case step.Starting:
		if p.What != "" {
			return p.What + " " + ProgressText(p.Bytes, p.TotalBytes, "bytes")
		}
	case step.Running:
		return runningParts(p, now).Join(", ")
	case step.Harvesting:
		return "harvesting " + contentDone(p)
	}
	return string(p.Name)
}

func contentDone(p step.Phase) string {
	return ProgressText(p.Files, p.TotalFiles, "files") + ", " + ProgressText(p.Bytes, p.TotalBytes, "bytes")
}

func runningParts(p step.Phase, now time.Time) Parts {
	text := clock(max(0, now.Sub(p.Started)))
	if p.LimitMillis > 0 {
		text += " of " + conditions.Limit((time.Duration(p.LimitMillis) * time.Millisecond).Round(time.Second))
	}
	parts := Parts{text}
	parts.If(p.MemoryBytes > 0, Bytes(p.MemoryBytes))
	parts.If(p.Tokens > 0, Plural(int(p.Tokens), "token"))
	parts.If(p.Cost > 0, Dollars(p.Cost))
	switch p.Submission {
	case step.SubmissionNone:
		return append(parts, "no submission")
	case step.SubmissionUnchecked:
		return append(parts, "submission not checked")
	}
	return append(parts, "submission "+string(p.Submission))
}

// preparing reports whether the attempt still waits for its data or its image.
func preparing(p step.Phase) bool {
	return p.Name == step.Placing || p.Name == step.Starting && p.What != ""
}

// rateNote returns the speed at which an attempt is prepared.
func rateNote(r *running, now time.Time) string {
	if !preparing(r.Phase) {
		return ""
	}
	return After(" ", rateText(event.StepProgress{Progress: step.Progress{Done: r.Phase.Bytes, Total: r.Phase.TotalBytes, Unit: "bytes"}}, &r.Rate, now))
}

// spaceWaitText names the disk space that an attempt waits for, and the number of steps
// that hold it.
func spaceWaitText(e event.StepWaiting) string {
	if e.Holders > 0 {
		return fmt.Sprintf("%s (held by %d)", OneLine(e.Message), e.Holders)
	}
	return OneLine(e.Message)
}

// InOrder sorts items with addresses, such as steps, for people: blocks in the order of
// their first item, the instances of each by key, with numbers in keys compared by value.
func InOrder[S any](list []S, address func(S) string) []S {
	blocks := lists.Grouped(list, func(it S) string { return BlockOf(address(it)) })
	for _, block := range blocks {
		slices.SortFunc(block, func(a, b S) int { return board.CompareNames(address(a), address(b)) })
	}
	return slices.Concat(blocks...)
}

// Names returns the distinct names of items, sorted as board.CompareNames does.
func Names[T any](list []T, name func(T) string) []string {
	names := map[string]bool{}
	for _, it := range list {
		names[name(it)] = true
	}
	return SortedKeys(names)
}

// SortedKeys returns the keys of a map, sorted as board.CompareNames does.
func SortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), board.CompareNames)
}
