package transform

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
	"github.com/mleflow/mleflow/plugins/data/table/ujson"
)

// pandasVerbs read and make tables with the types that pandas gives JSON, and
// tables of many files.
var pandasVerbs = []Verb{
	foldersVerb, csvFilesVerb, pandasJSONLinesVerb, jsonPointersVerb, explodeVerb, repeatVerb, isMissingVerb,
}

// WriteJSONLines writes rows as DataFrame.to_json(orient="records",
// lines=True) does: records, the rows of pandas_json_lines or a table.
func WriteJSONLines(w io.Writer, rows Rows) error {
	switch r := rows.(type) {
	case *Frame:
		return r.writeLines(w)
	case Records:
		return writeRecords(w, len(r), func(i int) pyjson.Value { return r[i] })
	case TableRows:
		columns := r.Columns()
		members := make([]pyjson.Member, len(columns))
		return writeRecords(w, r.Len(), func(i int) pyjson.Value {
			for k, c := range columns {
				members[k] = pyjson.Member{Name: c.Name(), Value: jsonValue(c, i)}
			}
			return pyjson.OfObject().WithAll(members...)
		})
	}
	return errors.New("expected records or a table")
}

func writeRecords(w io.Writer, n int, record func(i int) pyjson.Value) error {
	var line []byte
	for i := range n {
		var err error
		if line, err = ujson.Append(line[:0], record(i)); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

var jsonPointersVerb = Verb{
	Name: "json_pointers", Params: []string{"records", "columns"},
	Summary: "A table of values inside the records, at a JSON Pointer (RFC 6901) for each column.",
	Detail:  `json_pointers(records, { first = "/answers/0/text" }) has the column first. Null and no value are missing; a list or object is an error.`,
	Source:  "pandas.DataFrame({name: jsonpointer.resolve_pointer(record, pointer, None)})",
	Func:    jsonPointers,
}

func jsonPointers(rows Rows, columns Fields) (*table.Table, error) {
	pointers := make([][]string, len(columns))
	cells := make([][]table.Value, len(columns))
	for k, f := range columns {
		var err error
		if pointers[k], err = parsePointer(f.Value); err != nil {
			return nil, fmt.Errorf("json_pointers: column %q: %w", f.Name, err)
		}
	}
	err := walkRecords(rows, func(member func(string) (pyjson.Value, error)) error {
		for k, f := range columns {
			v, err := member(pointers[k][0])
			if err != nil {
				return err
			}
			cell, err := JSONCell(follow(v, pointers[k][1:]))
			if err != nil {
				return fmt.Errorf("row %d: column %q: %w", len(cells[k]), f.Name, err)
			}
			cells[k] = append(cells[k], cell)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("json_pointers: %w", err)
	}
	out := make([]*table.Column, len(columns))
	for k, f := range columns {
		out[k] = table.FromValues(f.Name, cells[k])
	}
	return table.New(out...)
}

// walkRecords calls do for every record with a function that gives a member,
// null where there is none.
func walkRecords(rows Rows, do func(member func(string) (pyjson.Value, error)) error) error {
	switch r := rows.(type) {
	case *Frame:
		return r.each(func(row *frameRow) error { return do(row.value) })
	case Records:
		for _, record := range r {
			err := do(func(name string) (pyjson.Value, error) {
				v, _ := record.Get(name)
				return v, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("expected records")
}

// parsePointer returns the parts of a JSON Pointer.
func parsePointer(o Operand) ([]string, error) {
	pointer := o.Value.String()
	if o.Column != nil || o.Value.Kind() != table.Text || !strings.HasPrefix(pointer, "/") {
		return nil, errors.New("a JSON Pointer is a string such as \"/answers/0/text\"")
	}
	parts := strings.Split(pointer[1:], "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts, nil
}

// follow returns the value at the rest of a pointer; null if there is none.
func follow(v pyjson.Value, parts []string) pyjson.Value {
	for _, part := range parts {
		if v.Kind() != pyjson.Array {
			v, _ = v.Get(part)
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n >= v.Len() || part != strconv.Itoa(n) {
			return pyjson.Value{}
		}
		v = v.Items()[n]
	}
	return v
}

var explodeVerb = Verb{
	Name: "explode", Params: []string{"records", "members"},
	Summary: "A table with a row for each item of the lists in a record's members.",
	Detail:  "A record's n-th row has the n-th item of each list, all of one length; its other members are repeated, and must not be lists or objects. Columns are in the order of the first record. Empty lists give no row, null gives one.",
	Source:  "pandas.DataFrame.explode(columns), of which an empty list gives a row",
	Func:    explode,
}

func explode(r Records, members []string) (*table.Table, error) {
	if len(members) == 0 || len(r) == 0 {
		return nil, errors.New("explode needs records and the name of at least one member")
	}
	names := r[0].Names()
	cells := make([][]table.Value, len(names))
	listed := map[string]bool{}
	for _, name := range members {
		listed[name] = true
	}
	for i, record := range r {
		n, err := explodedRows(record, members)
		if err != nil {
			return nil, fmt.Errorf("explode: record %d: %w", i, err)
		}
		for k, name := range names {
			v, _ := record.Get(name)
			if cells[k], err = appendExploded(cells[k], v, listed[name], n); err != nil {
				return nil, fmt.Errorf("explode: record %d: member %q: %w", i, name, err)
			}
		}
	}
	out := make([]*table.Column, len(names))
	for k, name := range names {
		out[k] = table.FromValues(name, cells[k])
	}
	return table.New(out...)
}

// explodedRows returns the length of the lists of the named members.
func explodedRows(record pyjson.Value, members []string) (int, error) {
	rows := -1
	for _, name := range members {
		v, ok := record.Get(name)
		n := 1
		if v.Kind() == pyjson.Array {
			n = v.Len()
		}
		switch {
		case !ok:
			return 0, fmt.Errorf("no member %q", name)
		case rows >= 0 && rows != n:
			return 0, fmt.Errorf("member %q has %d items, member %q has %d", members[0], rows, name, n)
		}
		rows = n
	}
	return rows, nil
}

func appendExploded(cells []table.Value, v pyjson.Value, listed bool, n int) ([]table.Value, error) {
	for i := range n {
		item := v
		if listed && v.Kind() == pyjson.Array {
			item = v.Items()[i]
		}
		cell, err := JSONCell(item)
		if err != nil {
			return cells, err
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

var repeatVerb = Verb{
	Name: "repeat", Params: []string{"rows", "counts"},
	Summary: "Each row repeated as counts, a column of integers or one, says.",
	Source:  "rows.loc[rows.index.repeat(counts)]",
	Func: func(rows Rows, counts Operand) (Rows, error) {
		if counts.Len() >= 0 && counts.Len() != rows.Len() || kindOf(counts) != table.Int64 {
			return nil, fmt.Errorf("repeat: counts must be an integer or a column of %d integers, one for each row", rows.Len())
		}
		var at []int
		for i := range rows.Len() {
			n := counts.at(i).Int()
			if n < 0 {
				return nil, fmt.Errorf("repeat: count %d of row %d is negative", n, i)
			}
			for range n {
				at = append(at, i)
			}
		}
		return rows.Take(at), nil
	},
}

var isMissingVerb = Verb{
	Name: "isna", Params: []string{"column"},
	Summary: "Whether each cell is missing.",
	Source:  "pandas.Series.isna",
	Func: func(c *table.Column) *table.Column {
		return table.FromBools(c.Name(), table.Collect(c.Len(), c.IsMissing), nil)
	},
}
