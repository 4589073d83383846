package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// UnderWay is the state of a run in progress, in JSON.
type UnderWay struct {
	Blocks  []blockJSON   `json:"blocks"`
	Running []runningJSON `json:"running"`
	Waiting []event.Wait  `json:"waiting"`
	// ExpectedEnd is zero if unknown; UnknownSteps are the steps that it does not count.
	ExpectedEnd  time.Time `json:"expected_end,omitzero"`
	UnknownSteps int       `json:"unknown_steps,omitempty"`
}

type blockJSON struct {
	Block   string               `json:"block"`
	Steps   int                  `json:"steps"`
	Running int                  `json:"running"`
	Ended   map[event.Status]int `json:"ended"`
	// Problems are the problems among the outcomes of attempts and submissions.
	Problems map[string]int `json:"problems,omitempty"`
}

type runningJSON struct {
	Address string    `json:"address"`
	Attempt int       `json:"attempt"`
	Started time.Time `json:"started"`
	Devices []string  `json:"devices,omitempty"`
	// Job is the state of its job on a cluster.
	Job      *event.StepJob `json:"job,omitempty"`
	Phase    *step.Phase    `json:"phase,omitempty"`
	LastLine string         `json:"last_line,omitempty"`
}

// UnderWay returns the state of the run.
func (s *State) UnderWay() *UnderWay {
	u := &UnderWay{Blocks: []blockJSON{}, Running: []runningJSON{}, Waiting: append([]event.Wait{}, s.Waiting...), ExpectedEnd: s.Expected.End, UnknownSteps: s.Expected.Unknown}
	for _, b := range s.order {
		u.Blocks = append(u.Blocks, blockJSON{Block: b.Name, Steps: b.Steps, Running: b.Running, Ended: b.Counts, Problems: b.Bad})
	}
	for _, r := range s.InProgress() {
		j := runningJSON{Address: r.Address, Attempt: r.Try, Started: r.Time, Devices: r.Devices, Job: r.Job, LastLine: r.Line}
		if r.Phase.Name != "" {
			j.Phase = &r.Phase
		}
		u.Running = append(u.Running, j)
	}
	return u
}

// LastLines adds the last lines of the running attempts' output, which a journal does not
// hold.
func (s *State) LastLines(last func(address string) string) {
	for _, r := range s.running {
		r.Line = OneLine(last(r.Address))
	}
}

// WriteUnderWay writes the state of a run at a time: blocks, attempts and the resources
// that others wait for. A width of 0 is no terminal.
func WriteUnderWay(w io.Writer, s *State, style Style, width int, now time.Time) {
	if width <= 0 {
		width = 200
	}
	lines := []string{"", overallText(s, style) + expectedText(s.Expected, now)}
	if len(s.Waiting) > 0 {
		lines = append(lines, style.Warn("Waiting: "+WaitsText(s.Waiting)))
	}
	lines = append(lines, body(s, style, width, len(s.order)+3*len(s.running)+1, now)...)
	for _, line := range lines {
		fmt.Fprintln(w, strings.TrimRight(ansi.Truncate(line, width, "…"), " "))
	}
	for _, r := range s.InProgress() {
		if r.Phase.Reason != "" {
			fmt.Fprintf(w, "%s %s: %s\n", style.Warn("Submission invalid:"), r.Address, OneLine(r.Phase.Reason))
		}
	}
}
