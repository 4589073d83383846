package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// WriteJSON writes a table as an array of objects, one a row with all its
// columns in order. Missing cells are null. A double that is infinite is "inf"
// or "-inf", as in reports.
func WriteJSON(w io.Writer, t *table.Table) error {
	out := bufio.NewWriter(w)
	for i := range t.Len() {
		for j, c := range t.Columns() {
			name, err := json.Marshal(c.Name())
			if err != nil {
				return err
			}
			cell, err := jsonCell(c, i)
			if err != nil {
				return err
			}
			lead := ", "
			switch {
			case j == 0 && i == 0:
				lead = "[\n  {"
			case j == 0:
				lead = ",\n  {"
			}
			fmt.Fprintf(out, "%s%s: %s", lead, name, cell)
		}
		out.WriteString("}")
	}
	if t.Len() == 0 {
		out.WriteString("[")
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
