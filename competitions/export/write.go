package export

import (
	"fmt"
	"io"
	"slices"

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
	columns := slices.Clone(t.Columns())
	for i, c := range columns {
		columns[i] = c.As(table.Plain)
	}
	texts, err := table.New(columns...)
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
