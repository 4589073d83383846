package export

import (
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/competitions/grading"
)

// Row is a row of the table in the reference's README.
type Row struct {
	Agent, Models string
	// Splits are the figures by split: low, medium, high, all. What is
	// missing is shown as a dash.
	Splits map[string]grading.Split
	// Hours is the time that a run may take; "" if it is not known.
	Hours string
	// Date is that of the newest report.
	Date string
}

// Markdown returns rows as a table of the reference's README: any medal, mean
// ± standard error of the mean.
func Markdown(list []Row) string {
	var out strings.Builder
	out.WriteString("| Agent | LLM(s) used | Low == Lite (%) | Medium (%) | High (%) | All (%) | Running Time (hours) | Date |\n")
	out.WriteString("|-------|-------------|-----------------|------------|----------|---------|----------------------|------|\n")
	for _, r := range list {
		cells := []string{r.Agent, r.Models}
		for _, split := range []string{"low", "medium", "high", "all"} {
			cell := ""
			if e, ok := r.Splits[split]["any_medal_percentage"]; ok {
				cell = fmt.Sprintf("%.2f ± %.2f", float64(e.Mean), float64(e.SEM))
			}
			cells = append(cells, cell)
		}
		out.WriteString("|")
		for _, cell := range append(cells, r.Hours, r.Date) {
			out.WriteString(" " + markdownCell(cell) + " |")
		}
		out.WriteString("\n")
	}
	return out.String()
}

// markdownCell keeps a text within its cell.
func markdownCell(text string) string {
	if text == "" {
		return "-"
	}
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(text)
}
