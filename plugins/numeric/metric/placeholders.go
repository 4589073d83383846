package metric

import "slices"

// Placeholders are made-up cells for answer columns whose values a submission does not
// determine. The validity check grades against them, in turn. Keys are columns of the
// answers, or parameters that name one; "" is the target column if it is spelled
// differently.
type Placeholders map[string][]string

// PlaceholdersFor returns the cells for a column of the answers; nil if the metric has none.
func (m Metric) PlaceholdersFor(args Args, column string) []string {
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
		if cells, ok := m.Placeholders[p.Name]; ok && given {
			return cells
		}
	}
	return m.Placeholders[column]
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
