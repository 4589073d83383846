package view

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// Plain is a Sink that writes one line per fact, for logs and pipes. Each line
// begins with the time since the run started; its wording is stable.
type Plain struct {
	mu      sync.Mutex
	w       io.Writer
	verbose bool
	style   Style
	state   *State
	// reported is the time at which a step's progress was last written. phases are the lines
	// last written about an attempt's phase.
	reported map[string]time.Time
	phases   map[string]step.Phase
	// waited and statusAt are the times at which the waiting steps and the state of the run
	// were last written.
	waited, statusAt time.Time
	waitedFor        string
	// waits has the steps whose job was said to wait.
	waits map[string]bool
}

// NewPlainOf returns a plain view on w, with a state that has no event yet. A
// verbose one also writes cached and skipped steps, progress and what steps print.
func NewPlainOf(s *State, w io.Writer, style Style, verbose bool) *Plain {
	return &Plain{w: w, style: style, verbose: verbose, state: s, reported: map[string]time.Time{}, phases: map[string]step.Phase{}, waits: map[string]bool{}}
}

// Emit implements event.Sink.
func (p *Plain) Emit(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e = cleaned(e)
	p.state.apply(e)
	for _, text := range []string{p.line(e), p.status(e)} {
		if text != "" {
			since := e.When().Sub(p.state.Start.Time)
			fmt.Fprintf(p.w, "%s %s\n", p.style.Dim(fmt.Sprintf("%8s", Duration(max(0, since)))), text)
		}
	}
}

func (p *Plain) line(e event.Event) string {
	switch e := e.(type) {
	case event.RunStarted:
		return runStartedText(e)
	case event.StepStarted:
		return p.startedText(e)
	case event.StepRetry:
		return fmt.Sprintf("%s %s: attempt %d failed: %s; next attempt in %s", p.style.Warn("retry"), e.Address, e.Try, OneLine(e.Error), Millis(e.WaitMillis))
	case event.StepJob:
		return p.jobLine(e)
	case event.StepFinished:
		return p.finishedText(e)
	case event.Warning:
		return p.style.Warn("warning") + " " + WarningText(e)
	case event.StepProgress:
		return p.progressLine(e)
	case event.StepWaiting:
		return p.style.Warn("wait") + " " + e.Address + ": for " + spaceWaitText(e)
	case event.StepPhase:
		return p.phaseLine(e)
	case event.Waiting:
		return p.waitingLine(e)
	case event.PreflightFinished:
		return p.preflightLines()
	case event.StepLog:
		return p.ifVerbose("log " + e.Address + ": " + OneLine(e.Line))
	case event.Publishing:
		return p.publishingLine(e)
	case event.Published:
		return publishedText(e, p.style)
	case event.Evaluated:
		return "evaluate " + OneLine(e.Name) + ": " + Evaluation(e.Evaluation)
	case event.RunFinished:
		return "run " + e.Run + " finished: " + countsText(e)
	}
	return ""
}

// jobLine says what a job on a cluster waits for, that it was lost or is restarted, and
// why. Other changes are shown if verbose.
func (p *Plain) jobLine(e event.StepJob) string {
	text := "job " + e.Address + ": " + jobText(e)
	waits := e.State == event.JobPending && e.Reason != "" && e.Reason != "None"
	first := waits && !p.waits[e.Address]
	if waits {
		p.waits[e.Address] = true
	}
	switch {
	case e.State == event.JobLeft, e.State == event.JobEnded, e.Adopted, e.Starts > 1, waits && (first || e.Message != "" || e.Starts > 0):
		return text
	}
	return p.ifVerbose(text)
}

// plainEvery is the interval between two lines on a step's progress, so that the log of a
// step that takes a day stays readable.
const plainEvery = time.Minute

// progressLine writes a step's progress: every report if verbose, else one a minute.
func (p *Plain) progressLine(e event.StepProgress) string {
	text := "progress " + e.Address + ": " + strings.TrimSpace(progressText(e)+" "+OneLine(e.What))
	r := p.state.running[e.Address]
	if r == nil {
		return p.ifVerbose(text)
	}
	if rate := rateText(e, &r.Rate, e.Time); rate != "" {
		text += " (" + rate + ")"
	}
	if p.verbose {
		return text
	}
	last := p.reported[e.Address]
	if last.IsZero() {
		last = r.Time
	}
	if e.Time.Sub(last) < plainEvery {
		return ""
	}
	p.reported[e.Address] = e.Time
	return text
}

// preflightLines is the table of a preflight on lines of its own.
func (p *Plain) preflightLines() string {
	var b strings.Builder
	b.WriteString("preflight\n")
	_ = Preflights(&b, &p.state.Run, p.style)
	return strings.TrimRight(b.String(), "\n")
}

func (p *Plain) ifVerbose(text string) string {
	if p.verbose {
		return text
	}
	return ""
}

func runStartedText(e event.RunStarted) string {
	if e.Run == "" {
		return e.Pipeline
	}
	text := fmt.Sprintf("run %s of %s: %s to run, %d cached, %d deferred", e.Run, e.Pipeline, Plural(e.ToRun, "step"), e.Cached, e.Deferred)
	if e.Resumed != "" {
		text += "; continues run " + e.Resumed
	}
	if e.ExpectedMillis > 0 {
		text += "; expected " + Millis(e.ExpectedMillis)
	}
	return text
}

func (p *Plain) startedText(e event.StepStarted) string {
	text := "start " + e.Address
	var notes []string
	if e.Try > 1 {
		notes = append(notes, fmt.Sprintf("attempt %d", e.Try))
	}
	if lease := leaseText(e); p.verbose && lease != "" {
		notes = append(notes, lease)
	}
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	return text
}

// leaseText names what an attempt has leased: "2 cpus, 4.0 GiB, gpu0".
func leaseText(e event.StepStarted) string {
	var parts []string
	if e.CPUs == 1 {
		parts = append(parts, "1 cpu")
	} else if e.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%g cpus", e.CPUs))
	}
	if e.MemoryBytes > 0 {
		parts = append(parts, Bytes(e.MemoryBytes))
	}
	return strings.Join(append(parts, e.Devices...), ", ")
}

func (p *Plain) finishedText(e event.StepFinished) string {
	switch e.Status {
	case event.Ran:
		return p.style.Good("done") + " " + e.Address + placeText(e.On, e.Node) + " in " + Millis(e.DurationMillis) + attemptsText(e.LastTry) + p.state.Grades.gradeText(e) + p.problemText(e)
	case event.Failed:
		if p.state.refused(e.Address) {
			return p.ifVerbose("failed " + e.Address + ": see the preflight")
		}
		return p.style.Bad("failed") + " " + e.Address + placeText(e.On, e.Node) + " after " + Millis(e.DurationMillis) + attemptsText(e.LastTry) + ": " + OneLine(e.Error)
	case event.Cancelled:
		return p.style.Warn("cancelled") + " " + e.Address
	case event.Skipped:
		return p.ifVerbose("skipped " + e.Address + ": " + OneLine(e.Error))
	case event.Unneeded:
		return p.ifVerbose("not needed " + e.Address)
	default:
		return p.ifVerbose("cached " + e.Address)
	}
}

// problemText describes the outcome of an attempt or a submission, if it is a problem.
func (p *Plain) problemText(e event.StepFinished) string {
	problems := p.state.Outcomes.Problems
	if n := len(problems); n > 0 && problems[n-1].Address == e.Address {
		return ": " + p.style.Warn(problems[n-1].What())
	}
	return ""
}

func attemptsText(n int) string {
	if n > 1 {
		return fmt.Sprintf(" (%d attempts)", n)
	}
	return ""
}

// WarningText writes a warning with the step it belongs to, if any.
func WarningText(w event.Warning) string {
	if w.Address == "" {
		return OneLine(w.Message)
	}
	return w.Address + ": " + OneLine(w.Message)
}

// Warnings writes the warnings of a run, each once: one that several steps have begins with
// the first of them and the number of the others.
func Warnings(list []event.Warning) (texts []string) {
	for _, same := range grouped(list, func(w event.Warning) string { return w.Message }) {
		w := same[0]
		if n := len(same) - 1; n > 0 && w.Address != "" {
			w.Address += fmt.Sprintf(" and %d more", n)
		}
		texts = append(texts, WarningText(w))
	}
	return texts
}

// countsText counts the steps of a run by outcome: "3 ran, 2 cached".
func countsText(e event.RunFinished) string {
	parts := []string{fmt.Sprintf("%d ran", e.Ran), fmt.Sprintf("%d cached", e.Cached)}
	for _, c := range []struct {
		n    int
		noun string
	}{{e.Failed, "failed"}, {e.Skipped, "skipped"}, {e.Cancelled, "cancelled"}, {e.Unneeded, "not needed"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.noun))
		}
	}
	return strings.Join(parts, ", ") + " in " + Millis(e.DurationMillis)
}
