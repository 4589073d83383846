package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
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
	text := fmt.Sprint(b.done())
	if b.Steps > 0 {
		text = fmt.Sprintf("%d/%d", b.done(), b.Steps)
	}
	for _, status := range []event.Status{event.Failed, event.Skipped, event.Cancelled} {
		if n := b.Counts[status]; n > 0 {
			text += ", " + style.Bad(fmt.Sprintf("%d %s", n, status))
		}
	}
	if len(b.Bad) > 0 {
		text += ", " + style.Warn(countsOf(b.Bad))
	}
	if b.Running > 0 {
		text += ", " + style.accent(fmt.Sprintf("%d running", b.Running))
	}
	return text
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
	var names []string
	pad := 0
	for _, r := range a.running {
		if BlockOf(r.Address) == block {
			names = append(names, middle(keyOf(r.Address), max(12, a.width/3)))
			pad = max(pad, ansi.StringWidth(names[len(names)-1]))
		}
	}
	for _, r := range a.running {
		if BlockOf(r.Address) != block {
			continue
		}
		name := names[0] + strings.Repeat(" ", pad-ansi.StringWidth(names[0]))
		names = names[1:]
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
	var parts []string
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
	return strings.Join(parts, ", ")
}

func resourceText(name string) string {
	switch name {
	case "gpu":
		return "GPUs"
	case "cpu":
		return "CPUs"
	case "disk":
		return "disk space"
	case "slots":
		return "a slot of --parallelism"
	}
	return OneLine(name)
}
