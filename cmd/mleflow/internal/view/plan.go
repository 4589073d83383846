package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// rowsPerGroup is the largest number of instances of a block with one action that are
// listed rather than summed up.
const rowsPerGroup = 8

// Plan writes a plan for people: per step block what would happen to its
// instances and why, then one line of counts. Blocks with many instances are
// summed up by reason, and cached steps counted, unless verbose.
func Plan(w io.Writer, p *plan.Plan, style Style, verbose bool) {
	fmt.Fprintf(w, "%s\n", style.Bold("Plan for "+OneLine(p.Pipeline)))
	for _, block := range blocksOf(p) {
		fmt.Fprintln(w)
		for _, action := range []plan.Action{plan.Run, plan.Deferred, plan.Cached, plan.Unneeded} {
			writeGroup(w, block.name, block.by[action], style, verbose)
		}
	}
	if p.Evaluation != nil {
		fmt.Fprintf(w, "\n%s %s\n", style.Bold("Evaluate "+OneLine(p.Evaluation.Name)+":"), Evaluation(*p.Evaluation))
	}
	planPublications(w, p.Publish, style, verbose)
	fmt.Fprintf(w, "\n%s\n", planLine(p.Counts(), style))
	planChoices(w, p, style)
	planMissing(w, p, style)
	planPlaces(w, p, style)
	planIsolation(w, p, style)
	forecast(w, p.Forecast, style)
	copies(w, p.Copies, style)
	spending(w, p, style)
}

// planChoices lists this machine's choices for arguments that leave the choice to it,
// with the reasons, and what becomes of steps whose machine is lost: each once, with the
// number of steps.
func planChoices(w io.Writer, p *plan.Plan, style Style) {
	var all []step.Choice
	for i := range p.Steps {
		s := &p.Steps[i]
		list := s.Choices
		if s.OnLoss != "" && (s.Action == plan.Run || s.Action == plan.Deferred) {
			list = append(slices.Clip(list), step.Choice{Value: s.OnLoss})
		}
		for _, c := range list {
			c.Why, c.Warning = plan.Neutral(s.Agent, c.Why), ""
			all = append(all, c)
		}
	}
	for _, same := range grouped(all, func(c step.Choice) step.Choice { return c }) {
		c, steps := same[0], Plural(len(same), "step")
		if c.Arg == "" {
			fmt.Fprintf(w, "%s %s %s.\n", style.Bold("If a machine is lost:"), steps, OneLine(c.Value))
			continue
		}
		fmt.Fprintf(w, "%s %s for %s: %s.\n", style.Bold("Chosen "+OneLine(c.Arg)+":"), OneLine(c.Value), steps, OneLine(c.Why))
	}
}

// planMissing lists the requirements of steps that this machine lacks and the secrets
// that cannot be masked, each once.
func planMissing(w io.Writer, p *plan.Plan, style Style) {
	var list plan.Remarks
	for i := range p.Steps {
		for _, text := range slices.Concat(p.Steps[i].Missing, p.Steps[i].Unmasked) {
			list.Add(p.Steps[i].Agent, text)
		}
	}
	list.Each(func(text, _ string) { fmt.Fprintf(w, "%s %s\n", style.Warn("Warning:"), OneLine(text)) })
}

// planPlaces lists the steps that run on the backends of a cluster, and those that none
// of their machines can run.
func planPlaces(w io.Writer, p *plan.Plan, style Style) {
	var elsewhere []*plan.Step
	for i := range p.Steps {
		if p.Steps[i].On != "" {
			elsewhere = append(elsewhere, &p.Steps[i])
		}
	}
	for _, same := range grouped(elsewhere, func(s *plan.Step) [3]string { return [3]string{s.On, s.Kind, s.Unfit} }) {
		s, steps := same[0], Plural(len(same), "step")
		fmt.Fprintf(w, "%s %s of kind %s on %s.\n", style.Bold("Elsewhere:"), steps, s.Kind, OneLine(s.On))
		if s.Unfit != "" {
			fmt.Fprintf(w, "%s %s of kind %s cannot be started: %s.\n", style.Bad("Does not fit:"), steps, s.Kind, OneLine(s.Unfit))
		}
	}
}

// planIsolation counts the attempts that would not be isolated, and the cached ones that
// were not.
func planIsolation(w io.Writer, p *plan.Plan, style Style) {
	var fresh, cached conditions.Tally
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Action == plan.Cached {
			cached.Add(s.Kind, s.Conditions)
		} else {
			fresh.Add(s.Kind, s.Conditions)
		}
	}
	for _, text := range []string{fresh.NotIsolated("would not be isolated"), cached.NotIsolated("in the cache were not isolated")} {
		NotIsolated(w, text, style)
	}
}

// NotIsolated writes the attempts of a Tally that were not isolated, if any.
func NotIsolated(w io.Writer, text string, style Style) {
	if text != "" {
		fmt.Fprintf(w, "%s %s: agents can read whatever you can, the answers included.\n", style.Bad("Untrusted:"), OneLine(text))
	}
}

func planLine(c plan.Counts, style Style) string {
	if c.Run+c.Deferred == 0 {
		return style.Good("Nothing to do:") + " " + allCached(c.Cached) + unneededText(c.Unneeded) + "."
	}
	return fmt.Sprintf("%s %d to run, %d deferred, %d cached%s.", style.Bold("Plan:"), c.Run, c.Deferred, c.Cached, unneededText(c.Unneeded))
}

type planBlock struct {
	name addr.Step
	by   map[plan.Action][]*plan.Step
}

// blocksOf groups the steps by block, as InOrder has them.
func blocksOf(p *plan.Plan) []planBlock {
	steps := make([]*plan.Step, len(p.Steps))
	for i := range p.Steps {
		steps[i] = &p.Steps[i]
	}
	var blocks []planBlock
	for _, list := range grouped(InOrder(steps, func(s *plan.Step) string { return s.Name }), func(s *plan.Step) addr.Step { return s.Address.Step }) {
		block := planBlock{name: list[0].Address.Step, by: map[plan.Action][]*plan.Step{}}
		for _, s := range list {
			block.by[s.Action] = append(block.by[s.Action], s)
		}
		blocks = append(blocks, block)
	}
	return blocks
}

func writeGroup(w io.Writer, block addr.Step, steps []*plan.Step, style Style, verbose bool) {
	if len(steps) == 0 {
		return
	}
	mark := markOf(steps[0].Action, style)
	switch {
	case verbose || (len(steps) <= rowsPerGroup && !calm(steps[0].Action)):
		for _, s := range steps {
			writeStep(w, mark, s, style)
		}
	case len(steps) == 1:
		fmt.Fprintf(w, "%s %s%s\n", mark, steps[0].Name, style.Dim("  "+actionText(steps[0].Action)))
	default:
		fmt.Fprintf(w, "%s %s: %s %s\n", mark, block, Plural(len(steps), "instance"), actionText(steps[0].Action))
		if !calm(steps[0].Action) {
			writeReasonSums(w, steps, style)
		}
	}
}

// calm reports whether steps with the action need no reason.
func calm(a plan.Action) bool { return a == plan.Cached || a == plan.Unneeded }

func writeStep(w io.Writer, mark string, s *plan.Step, style Style) {
	if s.Action == plan.Cached && len(s.Reasons) == 0 {
		fmt.Fprintf(w, "%s %s  %s\n", mark, s.Name, style.Dim("cached"))
		return
	}
	if len(s.Reasons) == 1 {
		fmt.Fprintf(w, "%s %s  %s\n", mark, s.Name, style.Dim(OneLine(s.Reasons[0].Text)))
		return
	}
	fmt.Fprintf(w, "%s %s\n", mark, s.Name)
	for _, r := range s.Reasons {
		fmt.Fprintf(w, "      %s\n", style.Dim(OneLine(r.Text)))
	}
}

// writeReasonSums sums up instances by reason, in order of appearance.
func writeReasonSums(w io.Writer, steps []*plan.Step, style Style) {
	sums := sumReasons(steps)
	for i, sum := range sums {
		if i == rowsPerGroup {
			fmt.Fprintf(w, "      %s\n", style.Dim(fmt.Sprintf("… for %d more reasons (-v lists all)", len(sums)-i)))
			return
		}
		fmt.Fprintf(w, "      %s: %s\n", keysText(sum.steps), style.Dim(sum.text))
	}
}

// reasonSum groups the instances that share a reason.
type reasonSum struct {
	text  string
	steps []*plan.Step
}

// sumReasons groups instances by their reasons without regard to the keys in
// them, so that each waiting for its own predecessor is one group.
func sumReasons(steps []*plan.Step) []*reasonSum {
	var sums []*reasonSum
	index := map[string]*reasonSum{}
	for _, s := range steps {
		text := reasonsText(s)
		general := withoutKeys(text)
		sum := index[general]
		if sum == nil {
			sum = &reasonSum{text: text}
			index[general] = sum
			sums = append(sums, sum)
		}
		if text != sum.text {
			sum.text = general
		}
		sum.steps = append(sum.steps, s)
	}
	return sums
}

// withoutKeys replaces the keys in a text with addresses. A regular expression would
// take as long as all else that a large plan shows.
func withoutKeys(text string) string {
	var out strings.Builder
	for {
		at := strings.Index(text, `["`)
		if at < 0 {
			return out.String() + text
		}
		end := at + 2
		for ; end < len(text) && text[end] != '"'; end++ {
			if text[end] == '\\' {
				end++
			}
		}
		if strings.HasPrefix(text[min(end, len(text)):], `"]`) {
			out.WriteString(text[:at] + "[…]")
			text = text[end+2:]
		} else {
			out.WriteString(text[:at+1])
			text = text[at+1:]
		}
	}
}

func reasonsText(s *plan.Step) string {
	texts := make([]string, len(s.Reasons))
	for i, r := range s.Reasons {
		texts[i] = OneLine(r.Text)
	}
	return strings.Join(texts, "; ")
}

// keysText lists a few keys and counts the rest.
func keysText(steps []*plan.Step) string {
	const shown = 3
	var keys []string
	for i, s := range steps {
		if i == shown && len(steps) > shown+1 {
			keys = append(keys, "… "+Count(int64(len(steps)-i))+" more")
			break
		}
		keys = append(keys, fmt.Sprintf("[%q]", s.Address.Key))
	}
	return strings.Join(keys, " ")
}

func markOf(a plan.Action, style Style) string {
	switch a {
	case plan.Run:
		return style.Good("+")
	case plan.Deferred:
		return style.Warn("~")
	case plan.Unneeded:
		return style.Dim("-")
	default:
		return style.Dim("=")
	}
}

func actionText(a plan.Action) string {
	switch a {
	case plan.Run:
		return "to run"
	case plan.Unneeded:
		return "not needed"
	default:
		return string(a)
	}
}
