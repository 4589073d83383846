package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

// planPublications writes the effect on the paths where results are laid out. Many paths
// are summed up unless verbose; refused ones are always listed.
func planPublications(w io.Writer, list []plan.Publication, style Style, verbose bool) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", style.Bold("Publish"))
	by := map[plan.Placing][]plan.Publication{}
	for _, p := range list {
		by[p.Placing] = append(by[p.Placing], p)
	}
	for _, placing := range []plan.Placing{plan.Refused, plan.Write, plan.Replace, plan.Undecided, plan.Unchanged} {
		mark, what := placingText(placing, style)
		for i, p := range by[placing] {
			if i == rowsPerGroup && !verbose && placing != plan.Refused {
				fmt.Fprintf(w, "%s … %d more: %s (-v lists all)\n", mark, len(by[placing])-i, what)
				break
			}
			text := what
			if p.Text != "" {
				text += ": " + OneLine(p.Text)
			}
			fmt.Fprintf(w, "%s %s  %s\n", mark, OneLine(p.To), style.Dim(OneLine(p.From)+", "+text))
		}
	}
}

func placingText(p plan.Placing, style Style) (mark, what string) {
	switch p {
	case plan.Write:
		return style.Good("+"), "to be written"
	case plan.Replace:
		return style.Good("+"), "to be replaced"
	case plan.Undecided:
		return style.Warn("~"), "after its step"
	case plan.Unchanged:
		return style.Dim("="), "there"
	}
	return style.Bad("!"), "refused"
}

// publishingText returns one line: "Publishing output.data to data: 12 of 300 files, 1.2 GiB of 4.0
// GiB (60.0 MiB/s, 47.0s left)".
func (s *State) publishingText() string {
	e := event.StepProgress{At: s.Publishing.At, Progress: s.Publishing.Progress}
	text := "Publishing " + OneLine(s.Publishing.From) + " to " + OneLine(s.Publishing.To) + ": " + progressText(e)
	if rate := rateText(e, &s.publishRate, e.Time); rate != "" {
		text += " (" + rate + ")"
	}
	return text
}

// publishingLine writes a publication's progress: every report if verbose, else one a
// minute.
func (p *Plain) publishingLine(e event.Publishing) string {
	text, key := p.state.publishingText(), "publish "+e.To
	last, ok := p.reported[key]
	if !ok {
		p.reported[key] = e.Time
	}
	if !p.verbose && (!ok || e.Time.Sub(last) < plainEvery) {
		return ""
	}
	p.reported[key] = e.Time
	return text
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
