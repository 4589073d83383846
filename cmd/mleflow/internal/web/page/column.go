package page

import (
	"cmp"
	"math"
)

// Kind is the kind of the values of a column: how they are written, aligned, ordered and
// averaged.
type Kind int

// The kinds of columns. Those from Points on are aligned at the right.
const (
	Words   Kind = iota // in natural order
	Badges              // words as a pill
	Ends                // how something ended, as a pill
	Medals              // ordered from none to gold
	Points              // scores, with the same decimals in the whole column
	Amounts             // integers
	Shares              // percentages
	Dollars             // amounts in US dollars
	Spells              // durations in seconds
	Moments             // times in seconds since 1970
	Figures             // numbers that are already written as texts
)

// Head describes a column of a table.
type Head struct {
	// Key names the column in addresses; tables that never change have none.
	Key, Title string
	Kind       Kind
	// Class is the class of its cells, besides that of numbers.
	Class string
	// Extra columns are shown only if somebody chooses them. The texts of Long ones have
	// several lines in a table that is sent at once.
	Extra, Long bool
	// Within is the key of a column whose values must agree for a mean to make sense,
	// such as the competition of scores.
	Within string
}

// Align is the class of the head of the column.
func (h Head) Align() string {
	if h.Kind >= Points {
		return "num"
	}
	return ""
}

// Classes are the classes of a cell of the column.
func (h Head) Classes() string { return cmp.Or(h.Class, h.Align()) }

// Column is a column of a table whose rows are values of type R. One of Text, Value and
// Of makes its cells.
type Column[R any] struct {
	Key, Title  string
	Kind        Kind
	Class       string
	Extra, Long bool
	Within      string

	Text  func(R) string
	Value func(R) float64
	Of    func(R) Cell
}

// Cell is a value of a row. Link must be made by the program, or checked.
type Cell struct {
	// Text is what is shown; numbers without one are written in the style of the column.
	// Sub follows the text, or stands below it on a narrow screen.
	Text, Sub, Link string
	// Class colours the text. All are the values that a list in the text stands for.
	Class string
	All   []string
	// Value is a number; NaN if there is none. SEM is the standard error of a mean.
	Value, SEM float64
	// Mean marks the value of a group.
	Mean bool
	// Pill and Medal say how the text is drawn. Outside is a link to another site.
	Pill, Medal, Outside bool
}

// Nothing is the cell of a number that is not known.
var Nothing = Cell{Value: math.NaN()}

// Count returns the cell of a number.
func Count(n int) Cell { return Cell{Value: float64(n)} }

// If returns the cell if it is known, else Nothing.
func (c Cell) If(known bool) Cell {
	if known {
		return c
	}
	return Nothing
}

func (c Column[R]) cell(row R) Cell {
	switch {
	case c.Text != nil:
		return Cell{Text: c.Text(row)}
	case c.Value != nil:
		return Cell{Value: c.Value(row)}
	}
	return c.Of(row)
}

// Heads returns the heads of columns.
func Heads[R any](columns []Column[R]) []Head {
	heads := make([]Head, len(columns))
	for i, c := range columns {
		heads[i] = Head{c.Key, c.Title, c.Kind, c.Class, c.Extra, c.Long, c.Within}
	}
	return heads
}

// Cells returns the cells of a row.
func Cells[R any](columns []Column[R], row R) []Cell {
	cells := make([]Cell, len(columns))
	for i, c := range columns {
		cells[i] = c.cell(row)
	}
	return cells
}

// Grid is a table that never changes, for the template "sheet".
type Grid struct {
	Caption string
	Heads   []Head
	Rows    [][]Cell
}

// NewGrid makes a table with a line for each row.
func NewGrid[R any](caption string, rows []R, columns ...Column[R]) Grid {
	g := Grid{Caption: caption, Heads: Heads(columns)}
	for _, row := range rows {
		g.Rows = append(g.Rows, Cells(columns, row))
	}
	return g
}
