package view

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table is text in aligned columns.
type Table struct {
	header []string
	right  []bool
	rows   [][]string
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

// Row adds a row, with the texts made fit to be shown; missing cells are empty.
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
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	b.WriteString(style.Bold(t.line(t.header, widths)) + "\n")
	for _, row := range t.rows {
		b.WriteString(t.line(row, widths) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.right[i] {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
