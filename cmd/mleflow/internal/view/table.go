package view

import (
	"io"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/plain"
)

// Table is a table of strings in aligned columns.
type Table struct {
	header []string
	right  []bool
	rows   [][]string
	// keys and width are those of Fit; without a width the table is as wide as
	// its cells.
	keys, width int
}

// NewTable returns a table with the given column names. A name that begins
// with ">" makes its column right-aligned.
func NewTable(columns ...string) *Table {
	t := &Table{header: make([]string, len(columns)), right: make([]bool, len(columns))}
	for i, c := range columns {
		t.header[i], t.right[i] = strings.CutPrefix(c, ">")
	}
	return t
}

// Fit limits the table to a width: further columns continue below, after a repetition of
// the first keys columns.
func (t *Table) Fit(keys, width int) { t.keys, t.width = keys, width }

// Row adds a row, whose strings it makes safe to show; missing cells are empty.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(t.header))
	for i := range min(len(row), len(cells)) {
		row[i] = cell(cells[i])
	}
	t.rows = append(t.rows, row)
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Write writes the header and the rows, two spaces between columns.
func (t *Table) Write(w io.Writer, style Style) error {
	var b strings.Builder
	for i, band := range strings.Split(plain.Table(t.columns(), t.keys, t.width), "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		header, rows, _ := strings.Cut(band, "\n")
		b.WriteString(style.Bold(header) + "\n")
		if rows != "" {
			b.WriteString(rows + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// columns returns the cells, padded.
func (t *Table) columns() [][]string {
	columns := make([][]string, len(t.header))
	for i, name := range t.header {
		columns[i] = []string{name}
		for _, row := range t.rows {
			columns[i] = append(columns[i], row[i])
		}
		columns[i] = plain.Pad(columns[i], t.right[i])
	}
	return columns
}
