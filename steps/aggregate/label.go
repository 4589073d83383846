package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/engine/plain"
)

// Label is a label of reports, by agent: "-" if the agent's reports do not have it.
type Label struct {
	Name   string
	Values map[string]string
}

// Labels are the labels of the board's reports besides agent and seed, by name: those
// in which agents differ, or all.
func (b *Board) Labels(all bool) []Label {
	values := map[string]map[string][]string{} // by label and agent
	for _, e := range b.Entries {
		for name, value := range e.Labels {
			if name == "agent" || name == "seed" {
				continue
			}
			if values[name] == nil {
				values[name] = map[string][]string{}
			}
			if of := values[name]; !slices.Contains(of[e.Agent], value) {
				of[e.Agent] = append(of[e.Agent], value)
			}
		}
	}
	var out []Label
	for _, name := range slices.SortedFunc(maps.Keys(values), board.CompareNames) {
		l, distinct := Label{name, map[string]string{}}, map[string]bool{}
		for _, a := range b.Agents {
			text := labelText(values[name][a.Name])
			l.Values[a.Name], distinct[text] = text, true
		}
		if all || len(distinct) > 1 {
			out = append(out, l)
		}
	}
	return out
}

// labelText is the values of a label at one agent: three of them, or how many.
func labelText(values []string) string {
	const most = 3
	switch {
	case len(values) == 0:
		return "-"
	case len(values) > most:
		return fmt.Sprintf("%d values", len(values))
	}
	return strings.Join(slices.SortedFunc(slices.Values(values), board.CompareNames), ", ")
}

// withLabels adds the labels in which agents differ, as many as fit, after the first
// two columns of a summary.
func (b *Board) withLabels(columns [][]string, width int) [][]string {
	at := 2
	for _, l := range b.Labels(false) {
		column := [][]string{{l.Name}}
		for _, a := range b.Agents {
			column = append(column, []string{l.Values[a.Name]})
		}
		if wider := slices.Insert(slices.Clone(columns), at, columnsOf(column, 0)...); plain.Size(wider) <= width {
			columns, at = wider, at+1
		}
	}
	return columns
}

// labelRows are all labels of all agents, below a header; none if there are no labels.
func (b *Board) labelRows() [][]string {
	labels := b.Labels(true)
	if len(labels) == 0 {
		return nil
	}
	rows := [][]string{{"agent"}}
	for _, l := range labels {
		rows[0] = append(rows[0], l.Name)
	}
	for _, a := range b.Agents {
		row := []string{a.Name}
		for _, l := range labels {
			row = append(row, l.Values[a.Name])
		}
		rows = append(rows, row)
	}
	return rows
}
