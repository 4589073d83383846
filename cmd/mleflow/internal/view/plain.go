package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
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
	// reported is the time at which the progress of a step or a publication, the waiting steps
	// or the state of the run were last written. phases are the lines last written about an
	// attempt's phase, and waitedFor the resources that steps were last said to wait for.
	reported  map[string]time.Time
	phases    map[string]step.Phase
	waitedFor string
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
	case event.Steered:
		if e.From != "" && e.Request.Address != "" {
			return "" // its result says so
		}
		return p.style.Warn("steered") + " " + When(e.Request.Address != "", e.Request.Address+": ") + origin(e) + SteeredText(e)
	case event.Stalled:
		if e.Over {
			return "works again " + e.Address
		}
		return p.style.Warn(StalledFor(e.Stall, e.Time)) + " " + e.Address + ": " + StallText(e.Stall)
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

// due reports, and notes, that a line is due that is written now and then from a time on.
func (p *Plain) due(what string, at, from time.Time, every time.Duration) bool {
	last, ok := p.reported[what]
	if !ok {
		last, p.reported[what] = from, from
	}
	if at.Sub(last) < every {
		return false
	}
	p.reported[what] = at
	return true
}

// progressLine writes a step's progress: every report if verbose, else one a minute.
func (p *Plain) progressLine(e event.StepProgress) string {
	text := "progress " + e.Address + ": " + strings.TrimSpace(progressText(e)+" "+OneLine(e.What))
	r := p.state.running[e.Address]
	if r == nil {
		return p.ifVerbose(text)
	}
	return When(p.verbose || p.due(e.Address, e.Time, r.Time, plainEvery), text+bracketed(rateText(e, &r.Rate, e.Time)))
}

// preflightLines is the table of a preflight on lines of its own.
func (p *Plain) preflightLines() string {
	var b strings.Builder
	b.WriteString("preflight\n")
	Preflights(&b, &p.state.Run, p.style)
	return strings.TrimRight(b.String(), "\n")
}

func (p *Plain) ifVerbose(text string) string { return When(p.verbose, text) }

func runStartedText(e event.RunStarted) string {
	if e.Run == "" {
		return e.Pipeline
	}
	return fmt.Sprintf("run %s of %s: %s to run, %d cached, %d deferred", e.Run, e.Pipeline, Plural(e.ToRun, "step"), e.Cached, e.Deferred) +
		After("; continues run ", e.Resumed) + When(e.ExpectedMillis > 0, "; expected "+Millis(e.ExpectedMillis))
}

func (p *Plain) startedText(e event.StepStarted) string {
	var notes Parts
	notes.If(e.Try > 1, fmt.Sprintf("attempt %d", e.Try))
	lease := leaseText(e)
	notes.If(p.verbose && lease != "", lease)
	return "start " + e.Address + bracketed(notes.Join(", "))
}

// leaseText names what an attempt has leased: "2 cpus, 4.0 GiB, gpu0".
func leaseText(e event.StepStarted) string {
	var parts Parts
	parts.If(e.CPUs == 1, "1 cpu")
	parts.If(e.CPUs > 0 && e.CPUs != 1, fmt.Sprintf("%g cpus", e.CPUs))
	parts.If(e.MemoryBytes > 0, Bytes(e.MemoryBytes))
	return append(parts, e.Devices...).Join(", ")
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
		return p.style.Warn("cancelled") + " " + e.Address + When(e.Error != "", ": "+e.Error)
	case event.Skipped:
		return p.ifVerbose("skipped " + e.Address + ": " + OneLine(e.Error))
	case event.Unneeded:
		if e.Reason != "" {
			return "not needed " + e.Address + ": " + OneLine(e.Reason)
		}
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

func attemptsText(n int) string { return When(n > 1, fmt.Sprintf(" (%d attempts)", n)) }

// SteeredText says what a person asked and what followed.
func SteeredText(e event.Steered) string {
	text := e.Request.Author + When(e.Request.Through != "", " through "+e.Request.Through) + ": " + string(e.Request.Act)
	if e.Request.Reason != "" {
		text += " (" + OneLine(e.Request.Reason) + ")"
	}
	if e.Refused != "" {
		return text + ", refused: " + OneLine(e.Refused)
	}
	text += ": " + OneLine(e.Effect)
	if e.Request.Address == "" {
		text += When(e.From == "", " (for this run only)") + When(e.From != "", " (for that run only)")
	}
	return text
}

// origin says in which earlier run something was asked.
func origin(e event.Steered) string { return When(e.From != "", "in run "+OneLine(e.From)+", ") }

// actsShown is the most acts that a list shows.
const actsShown = 20

// Acts lists what people asked of a run and its attempts, the latest of many, oldest first.
func Acts(list []event.Steered) (texts []string) {
	if more := len(list) - actsShown; more > 0 {
		texts, list = []string{"by hand: " + Plural(more, "earlier act")}, list[more:]
	}
	for _, e := range list {
		texts = append(texts, "by hand: "+cmp.Or(OneLine(e.Request.Address), "the run")+": "+ActText(e))
	}
	return texts
}

// ActText says where and when a person asked something, what it was, and what followed.
func ActText(e event.Steered) string {
	return origin(e) + e.Time.UTC().Format("2006-01-02 15:04:05 UTC ") + SteeredText(e)
}

// WarningText writes a warning with the step it belongs to, if any.
func WarningText(w event.Warning) string {
	return strings.TrimPrefix(w.Address+": ", ": ") + OneLine(w.Message)
}

// Warnings writes the warnings of a run, each once: one that several steps have begins with
// the first of them and the number of the others.
func Warnings(list []event.Warning) (texts []string) {
	for _, same := range lists.Grouped(list, func(w event.Warning) string { return w.Message }) {
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
	parts := Parts{fmt.Sprintf("%d ran", e.Ran), fmt.Sprintf("%d cached", e.Cached)}
	parts.Count(e.Failed, "failed")
	parts.Count(e.Skipped, "skipped")
	parts.Count(e.Cancelled, "cancelled")
	parts.Count(e.Unneeded, "not needed")
	return parts.Join(", ") + " in " + Millis(e.DurationMillis)
}

// statusEvery is the interval between two lines on the state of the run.
const statusEvery = 10 * time.Minute

// phaseLine writes the phase of an attempt: every turn if verbose. Otherwise it writes
// one line a minute on data and images that take long, and a line when the submission
// becomes valid or invalid.
func (p *Plain) phaseLine(e event.StepPhase) string {
	before := p.phases[e.Address]
	if !e.Turn(before) {
		return p.preparingLine(e)
	}
	p.phases[e.Address] = e.Phase
	if e.Submission == step.SubmissionValid || e.Submission == step.SubmissionInvalid {
		return fmt.Sprintf("submission %s: %s after %s", e.Address, e.Submission, clock(e.Time.Sub(e.Started))) + After(": ", OneLine(e.Reason))
	}
	if e.Submission == step.SubmissionUnchecked {
		p.phases[e.Address] = before // so that an unchanged verdict is written once
	}
	if e.Name == before.Name {
		return ""
	}
	return p.ifVerbose("phase " + e.Address + ": " + string(e.Name))
}

func (p *Plain) preparingLine(e event.StepPhase) string {
	var from time.Time
	if r := p.state.running[e.Address]; r != nil {
		from = r.Time
	}
	return When(preparing(e.Phase) && p.due(e.Address, e.Time, from, plainEvery), "progress "+e.Address+": "+PhaseText(e.Phase, e.Time))
}

// waitingLine writes the resources that steps wait for when they have changed, at most
// once a minute.
func (p *Plain) waitingLine(e event.Waiting) string {
	what := strings.Join(lists.Of(e.For, func(w event.Wait) string { return w.Resource }), " ")
	if what == "" || what == p.waitedFor || !p.due("waiting", e.Time, time.Time{}, plainEvery) {
		return ""
	}
	p.waitedFor = what
	return p.style.Warn("wait") + " steps: " + WaitsText(e.For)
}

// status writes the state of a long run now and then.
func (p *Plain) status(e event.Event) string {
	at := e.When()
	if p.state.Start.Time.IsZero() || p.state.End != nil || !p.due("status", at, p.state.Start.Time, statusEvery) {
		return ""
	}
	return "status " + overallText(p.state, p.style) + expectedText(p.state.Expected, at) + After("; waiting: ", WaitsText(p.state.Waiting))
}

// JSON is a Sink that writes one JSON object per event and line. It is called for one event
// at a time.
type JSON struct{ *Output }

// NewJSON returns a JSON view on w.
func NewJSON(w io.Writer) *JSON { return &JSON{NewOutput(w)} }

// Emit implements event.Sink.
func (j *JSON) Emit(e event.Event) {
	line, err := event.Encode(e)
	if err == nil {
		_, err = j.w.Write(append(line, '\n'))
	}
	j.note(err)
}
