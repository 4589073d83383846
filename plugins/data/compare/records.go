package compare

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// The largest tables that are read as such; what is beyond is compared as
// plain bytes.
const (
	// MaxRecord is the length of a record in bytes.
	MaxRecord = 16 << 20
	// MaxColumns is the number of columns.
	MaxColumns = 1 << 18
)

// errNotTable says why a file is compared as plain bytes.
var errNotTable = errors.New("not read as a table")

// records reads a table row by row.
type records interface {
	// names returns the columns met so far. It may grow as rows are read.
	names() []string
	// next returns the cells of the next row, io.EOF after the last. A cell
	// that the row does not have is nil. All is valid until the next call.
	next() ([][]byte, error)
	// form describes the bytes read so far.
	form() Form
}

// Form is what a table's reader does not see of its bytes.
type Form struct {
	// LineEnds is "LF", "CRLF", "CR", or "mixed"; empty without any.
	LineEnds string `json:"line_ends,omitempty"`
	// Unterminated says that the last line has no line end.
	Unterminated bool `json:"unterminated,omitempty"`
	// BOM says that the file begins with a byte order mark.
	BOM bool `json:"bom,omitempty"`
	// Quoted is the number of fields in quotes.
	Quoted int64 `json:"quoted,omitempty"`
	// Blank is the number of empty lines.
	Blank int64 `json:"blank,omitempty"`
}

// tableFormat returns how to read a file of that name as a table, or "".
func tableFormat(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		return "csv"
	case ".tsv":
		return "tsv"
	case ".jsonl", ".ndjson":
		return "jsonl"
	case ".json":
		return "json"
	}
	return ""
}

// IsTable reports whether a file of that name is read as a table.
func IsTable(name string) bool { return tableFormat(name) != "" }

func newRecords(format string, r io.Reader) (records, error) {
	switch format {
	case "csv":
		return newCSV(r, ',')
	case "tsv":
		return newCSV(r, '\t')
	case "jsonl", "json":
		return newJSON(r, format == "jsonl"), nil
	}
	return nil, fmt.Errorf("%w: no table is called that", errNotTable)
}

// lineEnds counts line ends by their kind.
type lineEnds struct{ lf, crlf, cr int64 }

func (l lineEnds) String() string {
	switch total := l.lf + l.crlf + l.cr; {
	case total == 0:
		return ""
	case total == l.lf:
		return "LF"
	case total == l.crlf:
		return "CRLF"
	case total == l.cr:
		return "CR"
	}
	return "mixed"
}
