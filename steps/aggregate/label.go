package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions/board"
)

// Labels returns a column for each label of the reports other than agent and seed: its
// name, then its value for each agent. Without all, it omits the labels in which the
// agents agree.
func (b *Board) Labels(all bool) (columns [][]string) {
	values := map[string]map[string][]string{} // by label and agent
	for _, e := range b.Entries {
		for name, value := range e.Labels {
			if values[name] == nil {
				values[name] = map[string][]string{}
			}
			if of := values[name]; !slices.Contains(of[e.Agent], value) {
				of[e.Agent] = append(of[e.Agent], value)
			}
		}
	}
	delete(values, "agent")
	delete(values, "seed")
	for _, name := range slices.SortedFunc(maps.Keys(values), board.CompareNames) {
		column := []string{name}
		for _, a := range b.Agents {
			column = append(column, labelText(values[name][a.Name]))
		}
		if all || slices.ContainsFunc(column[1:], func(text string) bool { return text != column[1] }) {
			columns = append(columns, column)
		}
	}
	return columns
}

// labelText shows the values of a label for one agent: up to three of them, or their
// number.
func labelText(values []string) string {
	switch {
	case len(values) == 0:
		return "-"
	case len(values) > 3:
		return fmt.Sprintf("%d values", len(values))
	}
	return strings.Join(slices.SortedFunc(slices.Values(values), board.CompareNames), ", ")
}

// withLabels inserts columns after the first two of a summary: all labels, or those in
// which agents differ and what their figures rest on if that differs, as many as fit.
func (b *Board) withLabels(columns [][]string, width int, all bool) [][]string {
	at, added := 2, b.Labels(all)
	if !all {
		_, basis := b.basis()
		added = append(basis, added...)
	}
	for _, label := range added {
		if wider := slices.Insert(slices.Clone(columns), at, plain.Pad(label, true)); all || plain.Size(wider) <= width {
			columns, at = wider, at+1
		}
	}
	return columns
}
