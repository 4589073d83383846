package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
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
	var all reasons
	for _, f := range s.Failures {
		text := strings.TrimSpace(Text(f.Error))
		if s.refused(f.Address) {
			text = "the data cannot be fetched, as the preflight says above; mleflow show " + s.Start.Run + " repeats it"
		}
		all.add(OneLine(f.Address), subjectOf(f.Address), text)
	}
	for i, r := range all.list {
		if i == failuresShown {
			fmt.Fprintf(w, "… and %s more (mleflow show %s)\n", Plural(len(all.list)-i, "failure"), s.Start.Run)
			return
		}
		writeFailure(w, r, s.Failures[r.first], s.Start.Run, style)
	}
}

// subjectOf is the key of an address, which errors often name.
func subjectOf(address string) string {
	a, err := addr.Parse(address)
	if err != nil {
		return ""
	}
	return a.Key
}

func writeFailure(w io.Writer, r *reason, f Failure, run string, style Style) {
	fmt.Fprintf(w, "%s %s: %s\n", style.Bad("Failed:"), r.who(), r.text)
	for _, line := range f.Tail {
		fmt.Fprintf(w, "    %s\n", style.Dim(OneLine(line)))
	}
	if len(f.Tail) > 0 {
		fmt.Fprintf(w, "    %s\n", style.Dim("whole log: mleflow logs "+run+" '"+OneLine(f.Address)+"'"))
	}
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
