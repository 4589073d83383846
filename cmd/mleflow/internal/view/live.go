package view

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// frameInterval is the time between two looks at the state: fast enough to
// seem alive, slow enough to cost nothing.
const frameInterval = 100 * time.Millisecond

// Live is a Sink that keeps the last lines of a terminal up to date. It reads
// no keys, handles no signals and asks the terminal nothing. Failures and warnings
// are printed above the lines that change and stay there. Close must be called.
type Live struct {
	mu       sync.Mutex
	state    *State
	lines    []string
	warned   int
	messages map[string]bool // the messages of warnings that were written
	surveyed bool
	reported int
	listed   int
	style    Style

	// plain continues after the live view panicked.
	plain *Plain

	terminal *os.File
	size     func() (width, height int, err error)
	over     chan struct{}
	done     chan struct{}
}

// NewLive starts a live view on a terminal, of a state that has no event yet.
func NewLive(s *State, terminal *os.File, style Style) *Live {
	l := &Live{state: s, style: style, terminal: terminal, size: func() (int, int, error) { return term.GetSize(int(terminal.Fd())) }, over: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

// Emit implements event.Sink. It only stores the event: the screen is drawn at its own
// pace.
func (l *Live) Emit(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plain != nil {
		l.plain.Emit(e)
		return
	}
	l.state.Apply(e)
}

// Say prints a line above the changing ones. A terminal echoes the keys of an
// interrupt, so the cursor is put back where the view left it.
func (l *Live) Say(line string) {
	_, _ = l.terminal.WriteString("\r")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

// Close removes the changing lines and gives the terminal back.
func (l *Live) Close() {
	close(l.over)
	<-l.done
}

// Abandon gives the terminal back without another frame, for a process that
// ends at once.
func (l *Live) Abandon() { _, _ = l.terminal.WriteString("\r\n" + ansi.ShowCursor) }

// notices returns the permanent lines that were added since the last call.
func (l *Live) notices() []string {
	lines := l.lines
	l.lines = nil
	if !l.state.Surveyed.Time.IsZero() && !l.surveyed {
		l.surveyed = true
		var b strings.Builder
		Preflights(&b, &l.state.Run, l.style)
		lines = append(lines, strings.TrimRight(b.String(), "\n"))
	}
	if l.messages == nil {
		l.messages = map[string]bool{}
	}
	for _, w := range l.state.Warnings[l.warned:] {
		if !l.messages[w.Message] { // mleflow show counts them
			lines = append(lines, l.style.Warn("Warning:")+" "+WarningText(w))
		}
		l.messages[w.Message] = true
	}
	l.warned = len(l.state.Warnings)
	for i, f := range l.state.Failures[l.reported:] {
		if l.state.refused(f.Address) { // the preflight said so
			continue
		}
		lines = append(lines, l.folded(l.reported+i, failuresShown, l.style.Bad("Failed:")+" "+f.Address+": "+OneLine(f.Error))...)
	}
	l.reported = len(l.state.Failures)
	for i, p := range l.state.Outcomes.Problems[l.listed:] {
		lines = append(lines, l.folded(l.listed+i, problemsShown, p.line(l.style))...)
	}
	l.listed = len(l.state.Outcomes.Problems)
	return lines
}

// folded returns the line for one of many similar events. Beyond a limit, one line says
// that the rest are only counted.
func (l *Live) folded(i, most int, line string) []string {
	switch {
	case i < most:
		return []string{line}
	case i == most:
		return []string{l.style.Dim("… more are counted below; mleflow show " + l.state.Start.Run + " lists them")}
	}
	return nil
}

// run draws frames until the view is closed. Neither errors of the terminal nor those of
// the view stop a run: after a panic, the plain view continues.
func (l *Live) run() {
	defer close(l.done)
	err := crash.Do(func() error { l.draw(); return nil })
	if err == nil {
		return
	}
	l.mu.Lock()
	l.plain = NewPlainOf(l.state, l.terminal, l.style, false)
	_, _ = l.terminal.WriteString(ansi.ShowCursor + "\r\n" + l.style.Warn("Warning:") + " the live view ended, and lines follow: " + err.Error() + "\r\n")
	l.mu.Unlock()
	<-l.over
}

// draw draws frames until the view is closed.
func (l *Live) draw() {
	tick := time.NewTicker(frameInterval)
	defer tick.Stop()
	p := painter{}
	_, _ = l.terminal.WriteString(ansi.HideCursor)
	for {
		select {
		case now := <-tick.C:
			_, _ = l.terminal.WriteString(p.paint(l.frame(now)))
		case <-l.over:
			width, notices, _ := l.frame(time.Now())
			_, _ = l.terminal.WriteString(p.paint(width, notices, "") + ansi.ShowCursor)
			return
		}
	}
}

// frame returns the lines for the terminal at its present size.
func (l *Live) frame(now time.Time) (width int, notices []string, text string) {
	width, height, err := l.size()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || width == 0 {
		return width, l.notices(), ""
	}
	return width, l.notices(), screen(l.state, l.style, width, height, now)
}

// painter overwrites the last frame. The cursor is below it.
type painter struct {
	width int
	lines []string
}

// paint returns the output that adds the notices permanently, with a frame below them. A
// terminal that became narrower has wrapped its lines, which cannot be overwritten one by
// one, so it is cleared.
func (p *painter) paint(width int, notices []string, text string) string {
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	if width == p.width && len(notices) == 0 && slices.Equal(lines, p.lines) {
		return ""
	}
	var b strings.Builder
	if width < p.width {
		b.WriteString(ansi.EraseEntireScreen + ansi.CursorHomePosition)
	} else if b.WriteString("\r"); len(p.lines) > 0 {
		b.WriteString(ansi.CursorUp(len(p.lines)))
	}
	if len(notices) > 0 { // they may be as wide as the terminal and wider
		b.WriteString(ansi.EraseScreenBelow)
	}
	for _, notice := range notices {
		b.WriteString(strings.ReplaceAll(notice, "\n", "\r\n") + "\r\n")
	}
	stays := width >= p.width && len(notices) == 0
	for i, line := range lines {
		if !stays || i >= len(p.lines) || line != p.lines[i] {
			b.WriteString(strings.TrimSuffix(line, "\n") + ansi.EraseLineRight)
		}
		b.WriteString("\r\n")
	}
	b.WriteString(ansi.EraseScreenBelow)
	p.width, p.lines = width, lines
	return b.String()
}

// boardLines is the largest number of lines of the live view's leaderboard.
const boardLines = 10

// screen draws the live view of a state at a time: at most height lines of at most width
// columns, the most important first.
func screen(s *State, style Style, width, height int, now time.Time) string {
	if s.Start.Time.IsZero() {
		return ""
	}
	done := bar(int64(s.Done()), int64(s.Start.Steps), min(30, max(8, width/4)), style)
	lines := Parts{headline(s, style, now), done + " " + overallText(s, style)}
	lines.If(len(s.Waiting) > 0, style.Warn("Waiting: "+WaitsText(s.Waiting)))
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
	return lines.Join("\n") + "\n"
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
	return ", ~" + Roughly(left) + " left (ends ~" + end.Format(format) + When(e.Unknown > 0, ", "+Plural(e.Unknown, "step")+" unknown") + ")"
}

// overallText counts the steps by outcome.
func overallText(s *State, style Style) string {
	counts := Parts{fmt.Sprintf("%d/%d done", s.Done(), s.Start.Steps)}
	for _, c := range []struct {
		status event.Status
		paint  func(string) string
	}{{event.Ran, style.Good}, {event.Cached, style.Dim}, {event.Failed, style.Bad}, {event.Skipped, style.Warn}, {event.Cancelled, style.Warn}, {event.Unneeded, style.Dim}} {
		n := s.Counts[c.status]
		counts.If(n > 0, c.paint(fmt.Sprintf("%d %s", n, c.status)))
	}
	counts.If(len(s.running) > 0, style.accent(fmt.Sprintf("%d running", len(s.running))))
	paid, bad := s.Paid(), s.Outcomes.short()
	counts.If(paid > 0, Dollars(paid)+" spent")
	counts.If(bad != "", style.Warn(bad))
	return counts.Join(", ")
}

// runningLine returns the line of an attempt: name, time, bar, phase, leases and, unless
// it has a line of its own, the last line of its output.
func runningLine(r *running, name string, style Style, now time.Time, printed bool) string {
	text := style.accent(name) + " " + style.Warn(When(r.Try > 1 && r.Retry == nil, fmt.Sprintf(" attempt %d ", r.Try)))
	switch {
	case r.Retry != nil:
		wait := r.Retry.Time.Add(time.Duration(r.Retry.WaitMillis) * time.Millisecond).Sub(now)
		return text + fmt.Sprintf(" %6s", clock(max(0, now.Sub(r.Time)))) +
			style.Warn(fmt.Sprintf("  attempt %d failed, next in %s: %s", r.Retry.Try, clock(max(0, wait)), OneLine(r.Retry.Error)))
	case r.Phase.Name == step.Running:
		text += " " + PhaseText(r.Phase, now)
		if r.Stalled != nil {
			text += "  " + style.Warn(StalledFor(*r.Stalled, now))
		}
	default:
		text += fmt.Sprintf(" %6s", clock(max(0, now.Sub(r.Time)))) + attemptProgress(r, style, now)
	}
	if r.Job != nil && r.Job.Node != "" {
		text += "  " + style.Dim("on "+OneLine(r.Job.Node))
	}
	return text + After("  ", style.Dim(After("on ", strings.Join(r.Devices, ", ")))) + After("  ", style.Dim(When(printed, OneLine(r.Line))))
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
		return style.Dim(When(r.ExpectedMillis > 0, "  of ~"+clock(time.Duration(r.ExpectedMillis)*time.Millisecond)))
	}
	return "  " + When(p.Total > 0, bar(p.Done, p.Total, 10, style)+" ") + progressText(p) +
		style.Dim(After(" ", rateText(p, &r.Rate, now))) + style.Dim(After("  ", OneLine(p.What)))
}

// bar draws done of total as a bar of the given number of cells.
func bar(done, total int64, cells int, style Style) string {
	full := 0
	if total > 0 {
		full = int(float64(cells) * min(1, float64(done)/float64(total)))
	}
	return style.Good(strings.Repeat("█", full)) + style.Dim(strings.Repeat("░", cells-full))
}
