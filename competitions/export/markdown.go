package export

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
)

// Row is a row of the table in the reference's README.
type Row struct {
	Agent, Models string
	// Splits are the figures by split: low, medium, high, all. A missing
	// one is shown as a dash.
	Splits map[string]board.Split
	// Hours is the time that a run may take; "" if it is not known.
	Hours string
	// Date is the date of the newest report.
	Date string
	conditions.Under
	// Class is the class of the attempts; see conditions.Class.
	Class string
	// Seeds are the numbers of seeds by split; with 0 the standard error is shown as it is.
	Seeds map[string]int
	// Figure is the figure by a benchmark's rule with its interval; "" without one.
	Figure string
}

// Markdown returns rows as a table of the reference's README: any medal, mean
// ± standard error of the mean. Whether source code and reports can be had is for
// their author to say. The last columns, isolation, task and class, are ours.
// Notes are paragraphs below the table. A rule adds a column for the figures by it.
func Markdown(list []Row, notes []string, rule string) string {
	var out strings.Builder
	out.WriteString("| Agent | LLM(s) used | Low == Lite (%) | Medium (%) | High (%) | All (%) | Running Time (hours) | Date | Source Code Available | Grading Reports Available | Isolation | Task | Class |" + of(rule, " "+MarkdownText(rule)+" |") + "\n")
	out.WriteString("|-------|-------------|-----------------|------------|----------|---------|----------------------|------|-----------------------|---------------------------|-----------|------|-------|" + of(rule, "---|") + "\n")
	for _, r := range list {
		cells := []string{r.Agent, r.Models}
		for _, split := range []string{"low", "medium", "high", "all"} {
			cell := ""
			if e, ok := r.Splits[split]["any_medal_percentage"]; ok {
				cell = e.Text(cmp.Or(r.Seeds[split], 2))
			}
			cells = append(cells, cell)
		}
		cells = append(cells, r.Hours, r.Date, "", "", r.Isolation, r.Task, r.Class)
		if rule != "" {
			cells = append(cells, r.Figure)
		}
		out.WriteString(MarkdownRow(lists.Of(cells, func(cell string) string { return cmp.Or(cell, "-") })))
	}
	for _, note := range notes {
		out.WriteString("\n" + MarkdownText(note) + "\n")
	}
	return out.String()
}

// of is a text about a rule, and nothing without one.
func of(rule, text string) string {
	if rule == "" {
		return ""
	}
	return text
}

// MarkdownRow returns a row of a table of Markdown.
func MarkdownRow(cells []string) string {
	row := "|"
	for _, cell := range cells {
		row += " " + MarkdownText(cell) + " |"
	}
	return row + "\n"
}

// MarkdownText returns a text from outside for a line or cell of Markdown, where
// it is shown as it is: no HTML, link, image, emphasis, code or further cell
// comes of it. Control characters, line ends among them, become blanks.
func MarkdownText(text string) string {
	return markdown.Replace(plain.Line(text))
}

// markdown escapes the characters that start a construct. The last three, with the
// escapes of brackets, keep addresses from becoming links.
var markdown = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`, "|", `\|`, "#", `\#`, "!", `\!`, "$", `\$`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "://", `\://`, "www.", `www\.`, "@", `\@`,
)

// External lists the competitions whose scores a program of theirs computed,
// each once.
func External(reports []grading.Report) []string {
	external := lists.Where(reports, func(r grading.Report) bool { return r.MetricExternal })
	ids := lists.Of(external, func(r grading.Report) string { return r.CompetitionID })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ExternalNotes say that of scores that are not mleflow's own.
func ExternalNotes(reports []grading.Report) []string {
	ids := External(reports)
	if len(ids) == 0 {
		return nil
	}
	return []string{"external metric: " + strings.Join(ids, ", ") + "; a program of the competition computed the scores, not mleflow."}
}
