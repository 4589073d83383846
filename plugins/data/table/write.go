package table

import (
	"fmt"
	"io"
	"os"
)

// Quoting says which fields WriteCSV quotes.
type Quoting uint8

// The quoting styles of Python's csv module.
const (
	QuoteMinimal    Quoting = iota // fields with a separator, a quote or a line feed
	QuoteNonNumeric                // all fields but numbers
	QuoteAll                       // all fields
)

// WriteOptions says how WriteCSV writes. The zero value writes as
// DataFrame.to_csv(path, index=False).
type WriteOptions struct {
	Comma       byte    // separator, ',' if 0
	NoHeader    bool    // leave out the header line
	Quoting     Quoting // which fields are quoted
	FloatFormat string  // a C format for floats, such as "%.10g"; empty: FormatFloat
	Index       bool    // a first column of row numbers under an empty name
}

// WriteCSV writes t to w as pandas does: "\n" ends a line, floats are written
// as FormatFloat spells them, booleans True and False, quotes in quoted
// fields doubled. A carriage return alone is not quoted, as in Python before
// 3.13, though readers then take it for a line end. It formats on all cores and holds a few thousand rows of
// text at a time.
func WriteCSV(w io.Writer, t *Table, o WriteOptions) error {
	f, err := newFormatter(t, o)
	if err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	if _, err := w.Write(f.header()); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	if err := f.writeRows(w); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// WriteCSVFile writes t to a new file at path.
func WriteCSVFile(path string, t *Table, o WriteOptions) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := WriteCSV(f, t, o); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
