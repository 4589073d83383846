package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

// failuresShown is the number of reasons for failures that a summary spells out.
const failuresShown = 10

// Summary writes the end of a run: failures with their last lines, warnings (counted if
// there are many), and one closing line.
func Summary(w io.Writer, s *State, style Style) {
	writeFailures(w, s, style)
	publications(w, s.Published, style)
	writeOutcomes(w, &s.Outcomes, s.Start.Run, style)
	NotIsolated(w, s.Attempts.NotIsolated("were not isolated"), style)
	if s.Evaluation != nil {
		fmt.Fprintf(w, "%s %s\n", style.Bold("Evaluate "+OneLine(s.Evaluation.Name)+":"), Evaluation(*s.Evaluation))
	}
	if s.End != nil {
		fmt.Fprintln(w, closingLine(s, style))
	}
}

// writeFailures writes the reasons for failed steps, each once. Findings of the preflight
// are not repeated.
func writeFailures(w io.Writer, s *State, style Style) {
	var all []failed
	for _, f := range s.Failures {
		text, subject := strings.TrimSpace(Text(f.Error)), ""
		if s.refused(f.Address) {
			text = "the data cannot be fetched, as the preflight says above; mleflow show " + s.Start.Run + " repeats it"
		}
		if a, err := addr.Parse(f.Address); err == nil {
			subject = a.Key // errors often name it
		}
		all = append(all, failed{name: OneLine(f.Address), subject: subject, text: text, tail: f.Tail})
	}
	groups := lists.Grouped(all, failed.reason)
	for i, same := range groups {
		if i == failuresShown {
			fmt.Fprintf(w, "… and %s more (mleflow show %s)\n", Plural(len(groups)-i, "failure"), s.Start.Run)
			return
		}
		fmt.Fprintf(w, "%s %s\n", style.Bad("Failed:"), whoFailed(same))
		for _, line := range same[0].tail {
			fmt.Fprintf(w, "    %s\n", style.Dim(OneLine(line)))
		}
		if len(same[0].tail) > 0 {
			fmt.Fprintf(w, "    %s\n", style.Dim("whole log: mleflow logs "+s.Start.Run+" '"+same[0].name+"'"))
		}
	}
}

// failed is a failure, such as of a missing credential: of name, with a text that may
// mention its subject, and the end of its output.
type failed struct {
	name, subject, text string
	tail                []string
	// page is the address that a person must visit, or empty.
	page string
}

// reason is the text with … for the subject, unless a page of its own must be visited.
// Failures with the same reason are shown as one.
func (f failed) reason() string {
	if f.subject == "" || strings.Contains(f.page, "/"+f.subject) {
		return f.text
	}
	return strings.ReplaceAll(f.text, f.subject, "…")
}

// whoFailed names at most three failures of the same reason, and the reason.
func whoFailed(same []failed) string {
	if len(same) == 1 {
		return same[0].name + ": " + same[0].text
	}
	names := lists.Of(same, func(f failed) string { return f.name })
	who := strings.Join(names, ", ")
	if n := len(names); n > 3 {
		who = fmt.Sprintf("%s and %d more", strings.Join(names[:2], ", "), n-2)
	}
	return who + ": " + same[0].reason()
}

func closingLine(s *State, style Style) string {
	e := *s.End
	switch {
	case e.Paused:
		return style.Warn("Paused:") + " " + countsText(e) + ". mleflow runs continue " + OneLine(e.Run) + " resumes it."
	case e.Status == event.Cancelled:
		return style.Warn("Interrupted:") + " " + countsText(e) + ". Run apply again to continue."
	case e.Status == event.Failed:
		return style.Bad("Failed:") + " " + countsText(e) + "."
	case e.Ran == 0:
		return style.Good("Nothing to do:") + " " + allCached(e.Cached) + unneededText(e.Unneeded) + "."
	default:
		return doneText(s, style)
	}
}

// doneText returns the line of a run without failed steps. Agents' failures are counted
// but do not make it a failure.
func doneText(s *State, style Style) string {
	text := " " + countsText(*s.End)
	switch done := s.Outcomes.Finished(); {
	case !s.Outcomes.AgentFailed():
		return style.Good("Done:") + text + "."
	case done == "":
		return style.Warn("Done:") + text + "."
	default:
		return style.Warn("Done:") + text + "; " + done + " attempts finished."
	}
}

func allCached(n int) string {
	switch n {
	case 0:
		return "the pipeline has no steps"
	case 1:
		return "the only step is cached"
	default:
		return "all " + Count(int64(n)) + " steps are cached"
	}
}

// Outputs writes the values of the pipeline's output blocks: a string of several lines
// unchanged below its name, any other value on one line.
func Outputs(w io.Writer, run string, outputs []event.OutputValue, style Style) {
	told := map[string]bool{}
	for i, o := range outputs {
		if i == 0 {
			fmt.Fprintln(w)
		}
		name, value := style.Bold(OneLine(o.Name)), plain.Fold(unrepeated(Text(o.Value), told), 2, Width(w))
		if o.Content != nil {
			fmt.Fprintf(w, "%s = %s\n", name, ContentText(*o.Content))
			if o.Content.From != "" {
				fmt.Fprintf(w, "    %s\n", style.Dim(GetCommand(run, *o.Content)))
			}
			continue
		}
		if strings.Contains(value, "\n") {
			fmt.Fprintf(w, "%s\n%s\n", name+style.Bold(":"), strings.TrimRight(value, "\n"))
			continue
		}
		fmt.Fprintf(w, "%s = %s\n", name, value)
	}
}

// unrepeated omits the closing paragraph of a message if an earlier message ended with the
// same one.
func unrepeated(text string, told map[string]bool) string {
	i := strings.LastIndex(strings.TrimRight(text, "\n"), "\n\n")
	if i < 0 {
		return text
	}
	if told[text[i:]] {
		return text[:i]
	}
	told[text[i:]] = true
	return text
}

// ContentText describes content.
func ContentText(c event.Content) string {
	if c.Kind == "tree" {
		return fmt.Sprintf("folder of %s, %s", Plural(int(c.Files), "file"), Bytes(c.Bytes))
	}
	return "file of " + Bytes(c.Bytes)
}

// GetCommand returns the command that takes content out of a run.
func GetCommand(run string, c event.Content) string {
	return fmt.Sprintf("mleflow get %s '%s.%s' -o DIR", run, OneLine(c.From), OneLine(c.Output))
}

// planPublications writes the effect on the paths where results are laid out. Many paths
// are summed up unless verbose; refused ones are always listed.
func planPublications(w io.Writer, list []plan.Publication, style Style, verbose bool) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", style.Bold("Publish"))
	by := lists.By(list, func(p plan.Publication) plan.Placing { return p.Placing })
	for _, as := range []struct {
		plan.Placing
		mark, text string
	}{
		{plan.Refused, style.Bad("!"), "refused"}, {plan.Write, style.Good("+"), "to be written"}, {plan.Replace, style.Good("+"), "to be replaced"},
		{plan.Undecided, style.Warn("~"), "after its step"}, {plan.Unchanged, style.Dim("="), "there"},
	} {
		for i, p := range by[as.Placing] {
			if i == rowsPerGroup && !verbose && as.Placing != plan.Refused {
				fmt.Fprintf(w, "%s … %d more: %s (-v lists all)\n", as.mark, len(by[as.Placing])-i, as.text)
				break
			}
			fmt.Fprintf(w, "%s %s  %s\n", as.mark, OneLine(p.To), style.Dim(OneLine(p.From)+", "+as.text+After(": ", OneLine(p.Text))))
		}
	}
}

// publishingText returns one line: "Publishing output.data to data: 12 of 300 files, 1.2 GiB of 4.0
// GiB (60.0 MiB/s, 47.0s left)".
func (s *State) publishingText() string {
	e := event.StepProgress{At: s.Publishing.At, Progress: s.Publishing.Progress}
	return "Publishing " + OneLine(s.Publishing.From) + " to " + OneLine(s.Publishing.To) + ": " + progressText(e) + bracketed(rateText(e, &s.publishRate, e.Time))
}

// publishingLine writes a publication's progress: every report if verbose, else one a
// minute.
func (p *Plain) publishingLine(e event.Publishing) string {
	return When(p.verbose || p.due("publish "+e.To, e.Time, e.Time, plainEvery), p.state.publishingText())
}

// publishedText returns one line on a path, or nothing for a path that was up to date.
func publishedText(e event.Published, style Style) string {
	switch {
	case e.Error != "":
		return style.Bad("failed") + " to publish " + OneLine(e.From) + " to " + OneLine(e.To) + ": " + OneLine(e.Error)
	case e.Unchanged:
		return ""
	}
	return style.Good("published") + " " + OneLine(e.From) + " to " + OneLine(e.To)
}

// publications sums up the published paths.
func publications(w io.Writer, list []event.Published, style Style) {
	var written []string
	unchanged := 0
	for _, e := range list {
		switch {
		case e.Error != "":
			fmt.Fprintf(w, "%s publish %s to %s: %s\n", style.Bad("Failed:"), OneLine(e.From), OneLine(e.To), strings.TrimSpace(Text(e.Error)))
		case e.Unchanged:
			unchanged++
		default:
			written = append(written, OneLine(e.To))
		}
	}
	if n := len(written); n > 3 {
		written = append(written[:2], fmt.Sprintf("%d more", n-2))
	}
	switch {
	case len(written) > 0 && unchanged > 0:
		fmt.Fprintf(w, "%s %s; %d unchanged.\n", style.Good("Published:"), strings.Join(written, ", "), unchanged)
	case len(written) > 0:
		fmt.Fprintf(w, "%s %s.\n", style.Good("Published:"), strings.Join(written, ", "))
	}
}
