package table

import (
	"strconv"
	"time"

	pschema "github.com/apache/arrow/go/v17/parquet/schema"
)

// As is the type of a column of strings in a file whose format has types: Parquet
// and Arrow. Everywhere else the column stays strings.
type As uint8

// The types.
const (
	Plain    As = iota // text
	Integers           // 64-bit integers, missing ones null
	Times              // instants of RFC 3339 as timestamps in UTC, in microseconds
)

// As returns the column as another type in files that have types. If a string is
// not exactly the written form of a value of the type, the column stays unchanged.
func (c *Column) As(as As) *Column {
	for i := range c.Len() {
		if _, exact := as.read(c.Text(i)); !exact && as != Plain && !c.IsMissing(i) {
			return c
		}
	}
	d := *c
	d.as = as
	return &d
}

// read returns the number that stands for a text, and whether the text is exactly
// that.
func (as As) read(text string) (n int64, exact bool) {
	if as == Times {
		t, err := time.Parse(time.RFC3339Nano, text)
		return t.UnixMicro(), err == nil && t.Nanosecond()%1000 == 0 && t.UTC().Format(time.RFC3339Nano) == text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// logical is the type in Parquet.
func (as As) logical() pschema.LogicalType {
	if as == Times {
		return pschema.NewTimestampLogicalType(true, pschema.TimeUnitMicros)
	}
	return pschema.NewIntLogicalType(64, true)
}
