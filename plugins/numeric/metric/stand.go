package metric

import "slices"

// Stand says what a metric's answers may hold where submissions show nothing
// of it, so that a submission can be tried on answers that are made up: cells
// in turn, spelled as in a CSV file, by the name of a column of the answers, or
// by that of the parameter which names the column. "" is the target's column
// where it is spelled in another way than the submission's.
type Stand map[string][]string

// StandFor returns the cells that stand in a column of the answers, nil where
// the metric knows none.
func (m Metric) StandFor(args Args, column string) []string {
	for _, p := range m.Params {
		v, given := args[p.Name]
		if !given {
			v = p.Default
		}
		switch v := v.(type) {
		case string:
			given = v == column
		case []string:
			given = slices.Contains(v, column)
		default:
			given = false
		}
		if cells, ok := m.Stand[p.Name]; ok && given {
			return cells
		}
	}
	return m.Stand[column]
}
