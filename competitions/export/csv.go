package export

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// forSpreadsheets returns the table with every text made fit for a spreadsheet,
// as OWASP has it: a text that would be a formula gets an apostrophe in front.
// Texts that are numbers, and all other columns, stay as they are.
func forSpreadsheets(t *table.Table) (*table.Table, error) {
	columns := slices.Clone(t.Columns())
	for i, c := range columns {
		if c.Kind() == table.Text {
			r := rows[string]{of: c.Texts()}
			r.text(c.Name(), guard)
			columns[i] = r.columns[0]
		}
	}
	return table.New(columns...)
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
