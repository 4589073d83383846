package view

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/power"
	"github.com/mleflow/mleflow/engine"
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
	steps := make([]*plan.Step, len(p.Steps))
	for i := range p.Steps {
		steps[i] = &p.Steps[i]
	}
	steps = InOrder(steps, func(s *plan.Step) string { return s.Name })
	for _, block := range lists.Grouped(steps, func(s *plan.Step) addr.Step { return s.Address.Step }) {
		fmt.Fprintln(w)
		by := lists.By(block, func(s *plan.Step) plan.Action { return s.Action })
		for _, action := range []plan.Action{plan.Run, plan.Deferred, plan.Cached, plan.Unneeded} {
			writeGroup(w, by[action], style, verbose)
		}
	}
	if p.Evaluation != nil {
		fmt.Fprintf(w, "\n%s %s\n", style.Bold("Evaluate "+OneLine(p.Evaluation.Name)+":"), Evaluation(*p.Evaluation))
	}
	planPublications(w, p.Publish, style, verbose)
	fmt.Fprintf(w, "\n%s\n", planLine(p.Counts(), style))
	planObserved(w, p, style)
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
	for _, same := range lists.Grouped(all, func(c step.Choice) step.Choice { return c }) {
		c, steps := same[0], Plural(len(same), "step")
		if c.Arg == "" {
			fmt.Fprintf(w, "%s %s %s.\n", style.Bold("If a machine is lost:"), steps, OneLine(c.Value))
			continue
		}
		fmt.Fprintf(w, "%s %s for %s: %s.\n", style.Bold("Chosen "+OneLine(c.Arg)+":"), OneLine(c.Value), steps, OneLine(c.Why))
	}
}

// planObserved says which results of earlier versions are used, with what they do not
// record, and which results would be made again.
func planObserved(w io.Writer, p *plan.Plan, style Style) {
	var used []*plan.Step
	for i := range p.Steps {
		if p.Steps[i].Observed != nil {
			used = append(used, &p.Steps[i])
		}
	}
	for _, same := range lists.Grouped(used, func(s *plan.Step) string { return s.Kind + s.Observed.String() }) {
		fmt.Fprintf(w, "%s %s of kind %s %s.\n", style.Bold("Observed:"), Plural(len(same), "step"), same[0].Kind, OneLine(same[0].Observed.String()))
	}
	for _, r := range p.Renamed {
		fmt.Fprintf(w, "%s %s. To use them, add:\n  moved {\n    from = %s\n    to   = %s\n  }\n", style.Warn("Renamed:"), OneLine(r.String()), OneLine(r.From), OneLine(r.To))
	}
	if p.Repeats != nil {
		fmt.Fprintf(w, "%s %s, although nothing that you wrote differs: apply asks on a terminal and refuses elsewhere; --rerun repeats them, --rerun=false uses the results.\n", style.Warn("Repeats:"), p.Repeats)
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

// planPlaces lists the steps that run on the backends of a cluster, and those that no
// machine of their place can run.
func planPlaces(w io.Writer, p *plan.Plan, style Style) {
	var elsewhere []*plan.Step
	for i := range p.Steps {
		if p.Steps[i].On != "" || p.Steps[i].Unfit != "" {
			elsewhere = append(elsewhere, &p.Steps[i])
		}
	}
	for _, same := range lists.Grouped(elsewhere, func(s *plan.Step) [3]string { return [3]string{s.On, s.Kind, s.Unfit} }) {
		s, steps := same[0], Plural(len(same), "step")
		if s.On != "" {
			fmt.Fprintf(w, "%s %s of kind %s on %s.\n", style.Bold("Elsewhere:"), steps, s.Kind, OneLine(s.On))
		}
		if s.Unfit != "" {
			fmt.Fprintf(w, "%s %s of kind %s cannot be started: %s.\n", style.Bad("Does not fit:"), steps, s.Kind, OneLine(s.Unfit))
		}
	}
}

// planIsolation counts the attempts that would not be isolated, and the cached ones that
// were not.
func planIsolation(w io.Writer, p *plan.Plan, style Style) {
	var fresh, cached conditions.Tally
	for _, s := range p.Steps {
		tally := &fresh
		if s.Action == plan.Cached {
			tally = &cached
		}
		tally.Add(s.Kind, s.Conditions)
	}
	NotIsolated(w, fresh.NotIsolated("would not be isolated"), style)
	NotIsolated(w, cached.NotIsolated("in the cache were not isolated"), style)
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

// writeGroup writes the instances of one block that have the same action.
func writeGroup(w io.Writer, steps []*plan.Step, style Style, verbose bool) {
	if len(steps) == 0 {
		return
	}
	a := actions[steps[0].Action]
	mark := a.paint(style, a.mark)
	switch {
	case verbose || len(steps) <= rowsPerGroup && (!a.calm || steps[0].Action == plan.Unneeded):
		for _, s := range steps {
			writeStep(w, mark, s, style)
		}
	case len(steps) == 1:
		fmt.Fprintf(w, "%s %s%s\n", mark, steps[0].Name, style.Dim("  "+a.text))
	default:
		fmt.Fprintf(w, "%s %s: %s %s\n", mark, steps[0].Address.Step, Plural(len(steps), "instance"), a.text)
		if !a.calm {
			writeReasonSums(w, steps, style)
		}
	}
}

// actions are what a plan and an explanation write of each action. Calm ones need no reason.
var actions = map[plan.Action]struct {
	mark          string
	paint         func(Style, string) string
	text, verdict string
	calm          bool
}{
	plan.Run:      {"+", Style.Good, "to run", "It would run:", false},
	plan.Deferred: {"~", Style.Warn, "deferred", "It is decided later:", false},
	plan.Cached:   {"=", Style.Dim, "cached", "It is cached.", true},
	plan.Unneeded: {"-", Style.Dim, "not needed", "It is not needed:", true},
}

func writeStep(w io.Writer, mark string, s *plan.Step, style Style) {
	switch {
	case s.Action == plan.Cached && len(s.Reasons) == 0:
		fmt.Fprintf(w, "%s %s  %s\n", mark, s.Name, style.Dim("cached"))
	case len(s.Reasons) == 1:
		fmt.Fprintf(w, "%s %s  %s\n", mark, s.Name, style.Dim(OneLine(s.Reasons[0].Text)))
	default:
		fmt.Fprintf(w, "%s %s\n", mark, s.Name)
		for _, r := range s.Reasons {
			fmt.Fprintf(w, "      %s\n", style.Dim(OneLine(r.Text)))
		}
	}
}

// writeReasonSums sums up instances by reason, in order of appearance. Reasons that differ
// in keys only are one, so that instances that each wait for their own predecessor are one
// group.
func writeReasonSums(w io.Writer, steps []*plan.Step, style Style) {
	sums := lists.Grouped(steps, func(s *plan.Step) string { return withoutKeys(reasonsText(s)) })
	for i, same := range sums {
		if i == rowsPerGroup {
			fmt.Fprintf(w, "      %s\n", style.Dim(fmt.Sprintf("… for %d more reasons (-v lists all)", len(sums)-i)))
			return
		}
		text := reasonsText(same[0])
		if slices.ContainsFunc(same, func(s *plan.Step) bool { return reasonsText(s) != text }) {
			text = withoutKeys(text)
		}
		fmt.Fprintf(w, "      %s: %s\n", keysText(same), style.Dim(text))
	}
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
	return strings.Join(lists.Of(s.Reasons, func(r plan.Reason) string { return OneLine(r.Text) }), "; ")
}

// keysText lists a few keys and counts the rest.
func keysText(steps []*plan.Step) string {
	const shown = 3
	rest := ""
	if len(steps) > shown+1 {
		steps, rest = steps[:shown], " … "+Count(int64(len(steps)-shown))+" more"
	}
	return strings.Join(lists.Of(steps, func(s *plan.Step) string { return fmt.Sprintf("[%q]", s.Address.Key) }), " ") + rest
}

// Explanation writes everything known of one instance: its action, the reason, and its
// key field by field.
func Explanation(w io.Writer, x *engine.Explanation, style Style) {
	fmt.Fprintf(w, "%s\n\n", style.Bold(OneLine(x.Plan.Name)))
	fmt.Fprintln(w, actions[x.Plan.Action].verdict)
	for _, r := range x.Plan.Reasons {
		fmt.Fprintf(w, "  %s\n", OneLine(r.Text))
	}
	if x.Plan.Observed != nil {
		fmt.Fprintf(w, "  Observed %s.\n", OneLine(x.Plan.Observed.String()))
	}
	if x.Plan.Repeats != nil {
		fmt.Fprintf(w, "  Nothing that you wrote differs: --rerun repeats the result, --rerun=false uses it.\n")
	}
	if x.Plan.ExpectedMillis > 0 {
		fmt.Fprintf(w, "Last time it took %s.\n", Millis(x.Plan.ExpectedMillis))
	}
	if x.Plan.ActionID == "" {
		fmt.Fprintf(w, "\nIts key is unknown until the steps it depends on have run.\n")
		writeKey(w, "Key of the last run:", x.Last)
		return
	}
	fmt.Fprintln(w)
	writeKey(w, "Key:", x.Plan.ActionID)
	if x.Last != x.Plan.ActionID {
		writeKey(w, "Key of the last run:", x.Last)
	}
	for _, f := range x.Fields {
		writeField(w, f, style)
	}
}

func writeKey(w io.Writer, label, key string) {
	if key != "" {
		fmt.Fprintf(w, "%s %s\n", label, key)
	}
}

func writeField(w io.Writer, f engine.Field, style Style) {
	if f.Was != "" {
		fmt.Fprintf(w, "  %s %s = %s %s\n", style.Warn("~"), OneLine(f.Label), OneLine(engine.Readable(f.Value)), style.Dim("(was "+OneLine(engine.Readable(f.Was))+")"))
		return
	}
	fmt.Fprintf(w, "    %s = %s\n", OneLine(f.Label), OneLine(engine.Readable(f.Value)))
}

// Evaluation describes the state of an evaluation: its design, what is known so
// far, and the next round or the answer, with what weakens it.
func Evaluation(e plan.Evaluation) string {
	if len(e.Agents) != 2 {
		return "of no two agents"
	}
	first, second := OneLine(e.Agents[0]), OneLine(e.Agents[1])
	if e.Round == 0 {
		return fmt.Sprintf("%s against %s by %s, at most %s, first round %s", first, second, OneLine(e.Decide), Plural(e.Budget, "attempt"), Plural(e.Next/2, "pair"))
	}
	known := fmt.Sprintf("%s less %s by %s: %+.1f points (%g %% confidence if attempts are independent: %+.1f to %+.1f) after %s at %s; %s",
		first, second, OneLine(e.Decide), e.Estimate, percent(e.Covers), e.Low, e.High, Plural(e.Attempts, "attempt"), Plural(e.Competitions, "competition"), e.Declaration())
	if e.Next > 0 {
		return fmt.Sprintf("%s; round %d: %s", known, e.Round+1, Plural(e.Next/2, "pair"))
	}
	answer := "undecided, as the budget and the seeds allow no further round"
	switch power.Decision(e.Decision) {
	case power.FirstBetter:
		answer = first + " is better"
	case power.SecondBetter:
		answer = second + " is better"
	case power.NoDifference:
		answer = fmt.Sprintf("no difference of %g points (%g %% confidence)", e.Difference, percent(e.Confidence))
	}
	return answer + "; " + known
}

// percent is a share in percent, to a thousandth.
func percent(share float64) float64 { return math.Round(share*1e5) / 1e3 }

// unneededText counts the steps that an evaluation did not need, if any.
func unneededText(n int) string { return When(n > 0, fmt.Sprintf(", %d not needed", n)) }
