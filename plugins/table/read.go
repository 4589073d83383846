package table

import (
	"io"
	"os"
)

// FloatParser says how ReadCSV turns digits into doubles.
type FloatParser uint8

// The float parsers of pandas.
const (
	RoundTrip FloatParser = iota // float_precision="round_trip": the nearest double
	Fast                         // the default of pandas.read_csv, off by some units in the last place
)

// ReadOptions says how ReadCSV reads. The zero value reads as
// pandas.read_csv(path, float_precision="round_trip") and gives a table
// without columns for an empty file.
type ReadOptions struct {
	Comma    rune            // separator, ',' if 0
	NoHeader bool            // the first line is data; columns are named "0", "1", …, or by Names
	Names    []string        // column names; they take the header's place unless NoHeader is set
	Floats   FloatParser     // how digits become doubles
	Kinds    map[string]Kind // kinds to use instead of inference, by column name: Text, Float64, Int64, Bool
	NoQuotes bool            // quoting=csv.QUOTE_NONE: the quote is a plain character
	KeepNA   bool            // na_filter=False: no text stands for a missing value
}

// ReadCSV reads a table from r.
func ReadCSV(r io.Reader, o ReadOptions) (*Table, error) {
	return readCSV(r, o)
}

// ReadCSVFile reads a table from the file at path.
func ReadCSVFile(path string, o ReadOptions) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadCSV(f, o)
}
