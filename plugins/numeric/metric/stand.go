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

// shapes are the parameters that name columns of the answers about the task rather than
// its solution: the size of a picture, the group of a row.
var shapes = []string{"group", "height", "width"}

// Shape returns the columns of the answers that say how large pictures are and how rows
// are grouped. They are public knowledge; no label is among them.
func (m Metric) Shape(args Args) (columns []string) {
	for _, p := range m.Params {
		if !slices.Contains(shapes, p.Name) {
			continue
		}
		name, given := args[p.Name].(string)
		if !given {
			name, _ = p.Default.(string)
		}
		if name != "" {
			columns = append(columns, name)
		}
	}
	return columns
}
