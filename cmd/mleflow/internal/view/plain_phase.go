package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

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
		text := fmt.Sprintf("submission %s: %s after %s", e.Address, e.Submission, clock(e.Time.Sub(e.Started)))
		if e.Reason != "" {
			text += ": " + OneLine(e.Reason)
		}
		return text
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
	last := p.reported[e.Address]
	if r := p.state.running[e.Address]; last.IsZero() && r != nil {
		last = r.Time
	}
	if !preparing(e.Phase) || e.Time.Sub(last) < plainEvery {
		return ""
	}
	p.reported[e.Address] = e.Time
	return "progress " + e.Address + ": " + PhaseText(e.Phase, e.Time)
}

// waitingLine writes the resources that steps wait for when they have changed, at most
// once a minute.
func (p *Plain) waitingLine(e event.Waiting) string {
	var names []string
	for _, w := range e.For {
		names = append(names, w.Resource)
	}
	what := strings.Join(names, " ")
	if what == "" || what == p.waitedFor || !p.waited.IsZero() && e.Time.Sub(p.waited) < plainEvery {
		return ""
	}
	p.waited, p.waitedFor = e.Time, what
	return p.style.Warn("wait") + " steps: " + WaitsText(e.For)
}

// status writes the state of a long run now and then.
func (p *Plain) status(e event.Event) string {
	if p.statusAt.IsZero() {
		p.statusAt = p.state.Start.Time
	}
	at := e.When()
	if p.state.Start.Time.IsZero() || at.Sub(p.statusAt) < statusEvery || p.state.End != nil {
		return ""
	}
	p.statusAt = at
	text := "status " + overallText(p.state, p.style) + expectedText(p.state.Expected, at)
	if len(p.state.Waiting) > 0 {
		text += "; waiting: " + WaitsText(p.state.Waiting)
	}
	return text
}
