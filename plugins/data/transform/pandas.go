package transform

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
	"github.com/mleflow/mleflow/plugins/data/table/ujson"
)

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
	return table.New(table.Collect(len(cells), func(k int) *table.Column { return table.FromValues(columns[k].Name, cells[k]) })...)
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
	return lists.Of(strings.Split(pointer[1:], "/"), strings.NewReplacer("~1", "/", "~0", "~").Replace), nil
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
	for i, record := range r {
		n, err := explodedRows(record, members)
		if err != nil {
			return nil, fmt.Errorf("explode: record %d: %w", i, err)
		}
		for k, name := range names {
			v, _ := record.Get(name)
			if cells[k], err = appendExploded(cells[k], v, slices.Contains(members, name), n); err != nil {
				return nil, fmt.Errorf("explode: record %d: member %q: %w", i, name, err)
			}
		}
	}
	return table.New(table.Collect(len(cells), func(k int) *table.Column { return table.FromValues(names[k], cells[k]) })...)
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

var pandasRecordsVerb = Verb{
	Name: "pandas_records", Params: []string{"records"},
	Summary: "The records as a pandas DataFrame returns them: all have every member, of one type.",
	Detail:  "Members are in order of first appearance. Numbers, unless all are integers, become floats, with NaN for null and missing. Other members, lists and objects included, stay; missing ones become NaN.",
	Source:  "pandas.DataFrame(records).to_dict(orient=\"records\")",
	Func:    pandasRecords,
}

func pandasRecords(r Records) (Records, error) {
	names, err := r.names()
	if err != nil {
		return nil, fmt.Errorf("pandas_records: %w", err)
	}
	floats := lists.Of(names, r.areFloats)
	out := make(Records, len(r))
	members := make([]pyjson.Member, len(names))
	for i, record := range r {
		for k, name := range names {
			v, ok := record.Get(name)
			if f, number := v.Float(); number && floats[k] {
				v = pyjson.OfFloat(f)
			} else if !ok || floats[k] {
				v = pyjson.OfFloat(math.NaN())
			}
			members[k] = pyjson.Member{Name: name, Value: v}
		}
		out[i] = pyjson.OfObject().WithAll(members...)
	}
	return out, nil
}

// names returns the names of the members of all records in order of first appearance.
func (r Records) names() (names []string, err error) {
	seen := map[string]bool{}
	for i, record := range r {
		if record.Kind() != pyjson.Object {
			return nil, fmt.Errorf("record %d must be an object, not %s", i, record.Kind())
		}
		for _, name := range record.Names() {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// areFloats reports whether pandas makes floats of a member of the records. It does not if
// all have null.
func (r Records) areFloats(name string) bool {
	cells, nulls := make([]table.Value, len(r)), 0
	for i, record := range r {
		v, ok := record.Get(name)
		switch v.Kind() {
		case pyjson.Null:
			if ok {
				nulls++
			}
		case pyjson.Int, pyjson.Float:
			cells[i], _ = JSONCell(v)
			if v.Kind() == pyjson.Int && cells[i].Kind() == table.Float64 {
				return false // an integer beyond 64 bits
			}
		default:
			return false
		}
	}
	return nulls < len(r) && table.CommonKind(cells) == table.Float64
}
