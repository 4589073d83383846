package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// blockCounts counts the steps of a block by outcome.
type blockCounts struct {
	Name string
	// Steps is the number of its instances, 0 if unknown.
	Steps   int
	Counts  map[event.Status]int
	Running int
	// Bad are the problems among the outcomes of its attempts and submissions.
	Bad map[string]int
}

// BlockOf is the address of the block that a step belongs to.
func BlockOf(address string) string {
	name, _, _ := strings.Cut(address, "[")
	return name
}

// block returns the counts of a block and creates them if necessary.
func (s *State) block(name string) *blockCounts {
	b := s.blocks[name]
	if b == nil {
		b = &blockCounts{Name: name, Counts: map[event.Status]int{}, Bad: map[string]int{}}
		s.blocks[name] = b
		s.order = append(s.order, b)
	}
	return b
}

func (b *blockCounts) done() int { return event.Done(b.Counts) }

// calm reports whether all of the block's steps have ended without a failure.
func (b *blockCounts) calm() bool {
	return b.done() >= b.Steps && b.Running == 0 && b.Counts[event.Failed] == 0 && len(b.Bad) == 0
}

// idle reports whether none of the block's steps has started.
func (b *blockCounts) idle() bool { return b.done() == 0 && b.Running == 0 }

// text returns the counts: "94/200, 3 failed, 8 running".
func (b *blockCounts) text(style Style) string {
	parts := Parts{fmt.Sprint(b.done())}
	if b.Steps > 0 {
		parts[0] += fmt.Sprintf("/%d", b.Steps)
	}
	for _, status := range []event.Status{event.Failed, event.Skipped, event.Cancelled} {
		parts.If(b.Counts[status] > 0, style.Bad(fmt.Sprintf("%d %s", b.Counts[status], status)))
	}
	parts.If(len(b.Bad) > 0, style.Warn(countsOf(b.Bad)))
	parts.If(b.Running > 0, style.accent(fmt.Sprintf("%d running", b.Running)))
	return parts.Join(", ")
}

// body returns at most the given number of lines: the blocks, each with its running
// attempts. If they do not fit, blocks with running attempts or failures come first, and
// blocks and attempts get half of the lines each.
func body(s *State, style Style, width, most int, now time.Time) (lines []string) {
	running := s.InProgress()
	blocks := blocksShown(s.order, max(most/2, most-len(running)))
	hidden := len(s.order) - len(blocks)
	space := most - len(blocks) - min(hidden, 1)
	shown := running
	if len(running) > space {
		shown = running[:max(0, space-1)]
	}
	under := attempts{running: shown, style: style, width: width, now: now, own: 2*len(running) <= space}
	pad := 0
	for _, b := range blocks {
		pad = max(pad, min(width/2, ansi.StringWidth(b.Name)))
	}
	for _, b := range blocks {
		lines = append(lines, b.line(style, pad, width))
		lines = append(lines, under.lines(b.Name)...)
	}
	if hidden > 0 && len(blocks) > 0 {
		lines = append(lines, style.Dim("  … and "+Plural(hidden, "more block")))
	}
	if more := len(running) - len(shown); more > 0 {
		lines = append(lines, style.Dim(fmt.Sprintf("  … and %d more running", more)))
	}
	return lines
}

func blocksShown(all []*blockCounts, most int) (shown []*blockCounts) {
	if len(all) <= most {
		return all
	}
	for _, b := range all {
		if !b.calm() && !b.idle() && len(shown) < most-1 {
			shown = append(shown, b)
		}
	}
	return shown
}

func (b *blockCounts) line(style Style, pad, width int) string {
	name := middle(b.Name, max(12, width/2))
	line := "  " + name + strings.Repeat(" ", max(0, pad-ansi.StringWidth(name))) + "  " + b.text(style)
	if b.calm() {
		return style.Dim(line)
	}
	return line
}

// attempts draws running attempts.
type attempts struct {
	running []*running
	style   Style
	width   int
	now     time.Time
	own     bool // a line that an attempt printed stands below it
}

// lines returns the attempts of a block by their keys.
func (a attempts) lines(block string) (lines []string) {
	own := slices.DeleteFunc(slices.Clone(a.running), func(r *running) bool { return BlockOf(r.Address) != block })
	names := lists.Of(own, func(r *running) string { return middle(keyOf(r.Address), max(12, a.width/3)) })
	pad := 0
	for _, name := range names {
		pad = max(pad, ansi.StringWidth(name))
	}
	for i, r := range own {
		name := names[i] + strings.Repeat(" ", pad-ansi.StringWidth(names[i]))
		lines = append(lines, "    "+runningLine(r, name, a.style, a.now, !a.own))
		if a.own && r.Line != "" {
			lines = append(lines, "      "+a.style.Dim(OneLine(r.Line)))
		}
	}
	return lines
}

// keyOf returns the key of an instance without quotes. The only instance of a block has
// an empty key.
func keyOf(address string) string {
	if a, err := addr.Parse(address); err == nil {
		return OneLine(a.Key)
	}
	_, key, _ := strings.Cut(address, "[")
	return strings.TrimSuffix(key, "]")
}

// WaitsText counts the waiting steps by resource: "98 for GPUs (held by 8)".
func WaitsText(waits []event.Wait) string {
	var parts Parts
	for _, w := range waits {
		text := fmt.Sprintf("%d for %s", w.Steps, resourceText(w.Resource))
		switch {
		case w.Elsewhere:
			text += " (held by other processes)"
		case w.Holders > 0:
			text += fmt.Sprintf(" (held by %d)", w.Holders)
		}
		parts = append(parts, text)
	}
	return parts.Join(", ")
}

func resourceText(name string) string {
	known := map[string]string{"gpu": "GPUs", "cpu": "CPUs", "disk": "disk space", "slots": "a slot of --parallelism"}
	return cmp.Or(known[name], OneLine(name))
}

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
	Stalled  *step.Stall    `json:"stalled,omitempty"`
	LastLine string         `json:"last_line,omitempty"`
}

// UnderWay returns the state of the run.
func (s *State) UnderWay() *UnderWay {
	u := &UnderWay{Blocks: []blockJSON{}, Running: []runningJSON{}, Waiting: append([]event.Wait{}, s.Waiting...), ExpectedEnd: s.Expected.End, UnknownSteps: s.Expected.Unknown}
	for _, b := range s.order {
		u.Blocks = append(u.Blocks, blockJSON{Block: b.Name, Steps: b.Steps, Running: b.Running, Ended: b.Counts, Problems: b.Bad})
	}
	for _, r := range s.InProgress() {
		j := runningJSON{Address: r.Address, Attempt: r.Try, Started: r.Time, Devices: r.Devices, Job: r.Job, Stalled: r.Stalled, LastLine: r.Line}
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
	lines := Parts{"", overallText(s, style) + expectedText(s.Expected, now)}
	lines.If(len(s.Waiting) > 0, style.Warn("Waiting: "+WaitsText(s.Waiting)))
	lines = append(lines, body(s, style, width, len(s.order)+3*len(s.running)+1, now)...)
	for _, line := range lines {
		fmt.Fprintln(w, strings.TrimRight(ansi.Truncate(line, width, "…"), " "))
	}
	for _, r := range s.InProgress() {
		if r.Stalled != nil {
			fmt.Fprintf(w, "%s %s: %s\n", style.Warn(StalledFor(*r.Stalled, now)+":"), r.Address, StallText(*r.Stalled))
		}
		if r.Phase.Reason != "" {
			fmt.Fprintf(w, "%s %s: %s\n", style.Warn("Submission invalid:"), r.Address, OneLine(r.Phase.Reason))
		}
	}
}
