package export

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// Format is a file format of a table.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	Parquet Format = "parquet"
	Arrow   Format = "arrow" // Arrow IPC file, also known as Feather
	JSON    Format = "json"  // an array of objects; leaderboards have a JSON of their own
)

// Formats returns the formats of a leaderboard's tables.
func Formats() []Format { return []Format{CSV, Parquet, Arrow} }

// WriteTexts writes a table whose seeds and times are texts in every format. The
// outputs of steps are written by it, since their bytes do not change.
func WriteTexts(w io.Writer, t *table.Table, f Format) error {
	texts, err := table.New(lists.Of(t.Columns(), func(c *table.Column) *table.Column { return c.As(table.Plain) })...)
	if err != nil {
		return err
	}
	return Write(w, texts, f)
}

// Write writes a table. In Parquet and Arrow, seeds are integers if all are, and
// times are timestamps.
func Write(w io.Writer, t *table.Table, f Format) error {
	switch f {
	case CSV:
		safe, err := forSpreadsheets(t)
		if err != nil {
			return err
		}
		return table.WriteCSV(w, safe, table.WriteOptions{})
	case Parquet:
		return table.WriteParquet(w, t)
	case Arrow:
		return table.WriteArrow(w, t)
	case JSON:
		return WriteJSON(w, t)
	}
	return fmt.Errorf("write table: unknown format %q", f)
}

// forSpreadsheets returns the table with every text made fit for a spreadsheet,
// as OWASP has it: a text that would be a formula gets an apostrophe in front.
// Texts that are numbers, and all other columns, stay as they are.
func forSpreadsheets(t *table.Table) (*table.Table, error) {
	return table.New(lists.Of(t.Columns(), func(c *table.Column) *table.Column {
		if c.Kind() != table.Text {
			return c
		}
		r := rows[string]{of: c.Texts()}
		r.text(c.Name(), guard)
		return r.columns[0]
	})...)
}

// number is a text that a spreadsheet takes for a number, whatever its sign.
var number = pattern.New(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`)

// formula finds where a formula would begin: with the text, or behind what
// separates cells where it is not a comma that does. The last four signs are
// full-width, as some spreadsheets take them.
var formula = pattern.New(`(^|;)(\s*)([=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}])`)

// guard returns a text for a cell of CSV. Control characters become blanks, so
// that tabs and returns neither begin a formula nor end a row.
func guard(text string) string {
	line := plain.Line(text)
	if number.Regexp().MatchString(line) {
		return line
	}
	return formula.Regexp().ReplaceAllString(strings.TrimSpace(line), "$1'$2$3")
}

// WriteJSON writes a table as an array of objects, one a row with all its
// columns in order. Missing cells are null. A double that is infinite is "inf"
// or "-inf", as in reports.
func WriteJSON(w io.Writer, t *table.Table) error {
	out := bufio.NewWriter(w)
	lead := "["
	for i := range t.Len() {
		cells := make([]string, len(t.Columns()))
		for j, c := range t.Columns() {
			name, errName := json.Marshal(c.Name())
			cell, err := jsonCell(c, i)
			if err := cmp.Or(errName, err); err != nil {
				return err
			}
			cells[j] = string(name) + ": " + string(cell)
		}
		fmt.Fprintf(out, "%s\n  {%s}", lead, strings.Join(cells, ", "))
		lead = ","
	}
	if t.Len() == 0 {
		out.WriteString(lead)
	}
	out.WriteString("\n]\n")
	return out.Flush()
}

func jsonCell(c *table.Column, i int) ([]byte, error) {
	if c.IsMissing(i) {
		return []byte("null"), nil
	}
	switch c.Kind() {
	case table.Bool:
		return json.Marshal(c.Bool(i))
	case table.Int64:
		return json.Marshal(c.Int(i))
	case table.Float64:
		switch v := c.Float(i); {
		case math.IsInf(v, 1):
			return []byte(`"inf"`), nil
		case math.IsInf(v, -1):
			return []byte(`"-inf"`), nil
		default:
			return json.Marshal(v)
		}
	}
	return json.Marshal(c.Text(i))
}
