package view

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// boardLines is the largest number of lines of the live view's leaderboard.
const boardLines = 10

// screen draws the live view of a state at a time: at most height lines of at most width
// columns, the most important first.
func screen(s *State, style Style, width, height int, now time.Time) string {
	if s.Start.Time.IsZero() {
		return ""
	}
	lines := []string{headline(s, style, now), overall(s, style, width)}
	if len(s.Waiting) > 0 {
		lines = append(lines, style.Warn("Waiting: "+WaitsText(s.Waiting)))
	}
	if s.Publishing != nil {
		lines = append(lines, s.publishingText())
	}
	board := s.Grades.lines(ToGrade(s.Start), width-1, min(height/4, boardLines), style)
	lines = append(lines, body(s, style, width, max(1, height-len(lines)-len(board)-1), now)...)
	lines = append(lines, board...)
	lines = lines[:min(len(lines), max(1, height-1))]
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], max(1, width-1), "…")
	}
	return strings.Join(lines, "\n") + "\n"
}

func headline(s *State, style Style, now time.Time) string {
	text := style.Bold(s.Start.Pipeline)
	if s.Start.Run != "" {
		text = style.Bold("Applying "+filepath.Base(s.Start.Pipeline)) + style.Dim("  run "+s.Start.Run)
	}
	return text + "  " + clock(max(0, now.Sub(s.Start.Time))) + style.Dim(expectedText(s.Expected, now))
}

// expectedText returns the expected end of the run: ", ~1h30m left (ends ~14:05)"; "" if
// it is unknown or past.
func expectedText(e event.ExpectedEnd, now time.Time) string {
	left := e.End.Sub(now)
	if e.End.IsZero() || left <= 0 {
		return ""
	}
	format, end := "15:04", e.End.In(now.Location())
	if end.YearDay() != now.YearDay() {
		format = "Jan 2 15:04"
	}
	text := ", ~" + Roughly(left) + " left (ends ~" + end.Format(format)
	if e.Unknown > 0 {
		text += ", " + Plural(e.Unknown, "step") + " unknown"
	}
	return text + ")"
}

func overall(s *State, style Style, width int) string {
	return bar(int64(s.Done()), int64(s.Start.Steps), min(30, max(8, width/4)), style) + " " + overallText(s, style)
}

// overallText counts the steps by outcome.
func overallText(s *State, style Style) string {
	counts := []string{fmt.Sprintf("%d/%d done", s.Done(), s.Start.Steps)}
	for _, c := range []struct {
		status event.Status
		paint  func(string) string
	}{{event.Ran, style.Good}, {event.Cached, style.Dim}, {event.Failed, style.Bad}, {event.Skipped, style.Warn}, {event.Cancelled, style.Warn}, {event.Unneeded, style.Dim}} {
		if n := s.Counts[c.status]; n > 0 {
			counts = append(counts, c.paint(fmt.Sprintf("%d %s", n, c.status)))
		}
	}
	if n := len(s.running); n > 0 {
		counts = append(counts, style.accent(fmt.Sprintf("%d running", n)))
	}
	if paid := s.Paid(); paid > 0 {
		counts = append(counts, Dollars(paid)+" spent")
	}
	if bad := s.Outcomes.short(); bad != "" {
		counts = append(counts, style.Warn(bad))
	}
	return strings.Join(counts, ", ")
}

// runningLine returns the line of an attempt: name, time, bar, phase, leases and, unless
// it has a line of its own, the last line of its output.
func runningLine(r *running, name string, style Style, now time.Time, printed bool) string {
	text := style.accent(name) + " " + attemptNote(r, style)
	switch {
	case r.Retry != nil:
		wait := r.Retry.Time.Add(time.Duration(r.Retry.WaitMillis) * time.Millisecond).Sub(now)
		return text + fmt.Sprintf(" %6s", clock(max(0, now.Sub(r.Time)))) +
			style.Warn(fmt.Sprintf("  attempt %d failed, next in %s: %s", r.Retry.Try, clock(max(0, wait)), OneLine(r.Retry.Error)))
	case r.Phase.Name == step.Running:
		text += " " + PhaseText(r.Phase, now)
	default:
		text += fmt.Sprintf(" %6s", clock(max(0, now.Sub(r.Time)))) + attemptProgress(r, style, now)
	}
	if r.Job != nil && r.Job.Node != "" {
		text += "  " + style.Dim("on "+OneLine(r.Job.Node))
	}
	if len(r.Devices) > 0 {
		text += "  " + style.Dim("on "+strings.Join(r.Devices, ", "))
	}
	if printed && r.Line != "" {
		text += "  " + style.Dim(OneLine(r.Line))
	}
	return text
}

func attemptNote(r *running, style Style) string {
	if r.Try > 1 && r.Retry == nil {
		return style.Warn(fmt.Sprintf(" attempt %d ", r.Try))
	}
	return ""
}

// middle shortens an address to the given width from its middle, so that both
// the step's kind and the instance's key stay readable.
func middle(address string, width int) string {
	n := ansi.StringWidth(address)
	if n <= width {
		return address
	}
	width = max(width, 1)
	head := (width - 1) / 3
	return ansi.Truncate(address, head, "") + "…" + ansi.TruncateLeft(address, n-(width-1-head), "")
}

func attemptProgress(r *running, style Style, now time.Time) string {
	if r.Space != nil {
		return style.Warn("  waits for " + spaceWaitText(*r.Space))
	}
	if r.Job != nil && r.Job.State != event.JobRunning {
		return style.Warn("  " + jobText(*r.Job))
	}
	if r.Phase.Name != "" {
		return "  " + PhaseText(r.Phase, now) + style.Dim(rateNote(r, now))
	}
	p := r.Progress
	if p.Unit == "" {
		if r.ExpectedMillis > 0 {
			return style.Dim("  of ~" + clock(time.Duration(r.ExpectedMillis)*time.Millisecond))
		}
		return ""
	}
	text := "  "
	if p.Total > 0 {
		text += bar(p.Done, p.Total, 10, style) + " "
	}
	text += progressText(p)
	if rate := rateText(p, &r.Rate, now); rate != "" {
		text += style.Dim(" " + rate)
	}
	if p.What != "" {
		text += style.Dim("  " + OneLine(p.What))
	}
	return text
}

// bar draws done of total as a bar of the given number of cells.
func bar(done, total int64, cells int, style Style) string {
	full := 0
	if total > 0 {
		full = int(float64(cells) * min(1, float64(done)/float64(total)))
	}
	return style.Good(strings.Repeat("█", full)) + style.Dim(strings.Repeat("░", cells-full))
}
