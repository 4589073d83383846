package transform

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// Member is one named value of an ordered object of JSON values: a column, or
// one value.
type Member struct {
	Name   string
	Column *table.Column
	Value  pyjson.Value
}

// Members are the members of an object in the order in which it was written.
type Members []Member

// JSONOf returns a cell as a JSON value; a missing one is null.
func JSONOf(v table.Value) pyjson.Value {
	switch v.Kind() {
	case table.Bool:
		return pyjson.OfBool(v.Bool())
	case table.Int64:
		return pyjson.OfInt(v.Int())
	case table.Uint64:
		return pyjson.OfUint(uint64(v.Int()))
	case table.Float64:
		return pyjson.OfFloat(v.Float())
	case table.Text:
		return pyjson.OfString(v.String())
	}
	return pyjson.Value{}
}

// jsonValue returns a cell of a column as a JSON value; a missing number is NaN.
func jsonValue(c *table.Column, i int) pyjson.Value {
	if c.Kind() == table.Float64 {
		return pyjson.OfFloat(c.Float(i))
	}
	return JSONOf(c.Value(i))
}

// JSONList returns a column as a list of its cells; a missing number is NaN,
// any other missing cell null.
func JSONList(c *table.Column) pyjson.Value {
	return pyjson.OfArray(table.Collect(c.Len(), func(i int) pyjson.Value { return jsonValue(c, i) })...)
}

// whole returns the member as one value.
func (m Member) whole() pyjson.Value {
	if m.Column == nil {
		return m.Value
	}
	return JSONList(m.Column)
}

var objectVerb = Verb{
	Name: "object", Params: []string{"members"},
	Summary: "A JSON object of the members, in the order written.",
	Detail:  "A member is records, a value read from JSON or a single value. A column becomes a list, with NaN for a missing number, else null.",
	Source:  "{name: value}",
	Func:    func(m Members) pyjson.Value { return withMembers(pyjson.OfObject(), m) },
}

// withMembers sets members of one object.
func withMembers(v pyjson.Value, members Members) pyjson.Value {
	return v.WithAll(table.Collect(len(members), func(i int) pyjson.Member { return pyjson.Member{Name: members[i].Name, Value: members[i].whole()} })...)
}

var withFieldsVerb = Verb{
	Name: "with_fields", Params: []string{"records", "members"},
	Summary: "The records with members set, in place or at the end.",
	Detail:  "A column gives each record its cell, any other value is the same for all. In a single object a column becomes a list, as in object.",
	Source:  "[{**record, name: value} for record in records]",
	Func:    withMembersEach,
}

func withMembersEach(v pyjson.Value, members Members) (pyjson.Value, error) {
	if v.Kind() == pyjson.Object {
		return withMembers(v, members), nil
	}
	set := make([]pyjson.Member, len(members))
	for k, m := range members {
		if m.Column != nil && m.Column.Len() != v.Len() {
			return v, fmt.Errorf("with_fields: column %q has %d rows; there are %d records", m.Name, m.Column.Len(), v.Len())
		}
		set[k] = pyjson.Member{Name: m.Name, Value: m.Value}
	}
	return changeEach(v, func(i int, record pyjson.Value) (pyjson.Value, error) {
		for k, m := range members {
			if m.Column != nil {
				set[k].Value = jsonValue(m.Column, i)
			}
		}
		return record.WithAll(set...), nil
	})
}

// Records are rows of JSON values.
type Records []pyjson.Value

// Len implements Rows.
func (r Records) Len() int { return len(r) }

// Take implements Rows.
func (r Records) Take(rows []int) Rows { return taken(r, rows) }

// Column implements Columned: the member of that name of every record, as
// pandas types a list of such values. A record without it is missing there;
// a name that no record has, or a member that is a list or an object, is an
// error.
func (r Records) Column(name string) (*table.Column, error) {
	cells := make([]table.Value, len(r))
	found := len(r) == 0
	for i, v := range r {
		m, ok := v.Get(name)
		found = found || ok
		cell, err := JSONCell(m)
		if err != nil {
			return nil, fmt.Errorf("record %d: member %q: %w", i, name, err)
		}
		cells[i] = cell
	}
	if !found {
		return nil, fmt.Errorf("no record has a member %q", name)
	}
	return table.FromValues(name, cells), nil
}

// JSONCell returns a string, number, boolean or null as a cell. Integers
// beyond 64 bits become floats; a list or an object is an error.
func JSONCell(v pyjson.Value) (table.Value, error) {
	switch v.Kind() {
	case pyjson.Null:
		return table.Value{}, nil
	case pyjson.Bool:
		return table.BoolValue(v.Bool()), nil
	case pyjson.String:
		return table.TextValue(v.Text()), nil
	case pyjson.Int:
		if n, ok := v.Int(); ok {
			return table.IntValue(n), nil
		}
		if n, ok := v.Uint(); ok {
			return table.UintValue(n), nil
		}
		fallthrough
	case pyjson.Float:
		f, _ := v.Float()
		return table.FloatValue(f), nil
	}
	return table.Value{}, fmt.Errorf("%s is not a single value", v.Kind())
}

// jsonOptions are the options of json.
type jsonOptions struct {
	Encoding string `verb:"encoding"`
	Head     *int   `verb:"head"`
}

var jsonVerb = Verb{
	Name: "json", Params: []string{"path", "options"},
	Summary: "The value in a JSON file of the raw data; a list is records.",
	Detail:  `As in Python, members keep their order and integers all digits. records.name is a member's column. encoding = "latin1" reads bytes as characters; head = n reads only the first n items of a list.`,
	Source:  "json.load",
	Func:    readJSON,
}

func readJSON(in *Input, path string, o *jsonOptions) (_ pyjson.Value, err error) {
	defer reading("json", path, &err)
	f, err := in.Raw.Open(path)
	if err != nil {
		return pyjson.Value{}, err
	}
	defer f.Close()
	text := io.Reader(f)
	switch o.Encoding {
	case "", "utf-8":
	case "latin1":
		text = latin1{f}
	default:
		return pyjson.Value{}, fmt.Errorf("encoding = %q: write \"utf-8\" or \"latin1\"", o.Encoding)
	}
	head := 0
	if o.Head != nil {
		if head = *o.Head; head < 1 {
			return pyjson.Value{}, fmt.Errorf("head = %d: it must be at least 1", head)
		}
	}
	return pyjson.ReadHead(text, head)
}

// latin1 reads bytes of which each is one character, as UTF-8.
type latin1 struct{ src io.Reader }

// Read implements io.Reader for buffers of two bytes or more. It reads into the second
// half of the buffer, since a character takes up to two bytes.
func (l latin1) Read(out []byte) (int, error) {
	half := out[(len(out)+1)/2:]
	n, err := l.src.Read(half)
	text := out[:0]
	for _, c := range half[:n] {
		text = utf8.AppendRune(text, rune(c))
	}
	return len(text), err
}

var jsonLinesVerb = Verb{
	Name: "json_lines", Params: []string{"path"},
	Summary: "The records of a file in the raw data, a JSON value per line; empty lines are skipped.",
	Source:  "[json.loads(line) for line in file]",
	Func: func(in *Input, path string) (records Records, err error) {
		defer reading("json_lines", path, &err)
		f, err := in.Raw.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return pyjson.ReadLines(f)
	},
}

var namesOfVerb = Verb{
	Name: "names_of", Params: []string{"value"},
	Summary: "The names of an object's members in order.",
	Source:  "list(value.keys())",
	Func: func(v pyjson.Value) ([]string, error) {
		if v.Kind() != pyjson.Object {
			return nil, fmt.Errorf("names_of works on an object, not on %s", v.Kind())
		}
		return v.Names(), nil
	},
}

var selectFieldsVerb = Verb{
	Name: "select_fields", Params: []string{"records", "names"},
	Summary: "The records, or one object, with only the members, in that order; without one is an error.",
	Source:  "[{name: record[name] for name in names} for record in records]",
	Func: func(v pyjson.Value, names []string) (pyjson.Value, error) {
		return changeEach(v, func(i int, record pyjson.Value) (pyjson.Value, error) {
			for _, name := range names {
				if _, ok := record.Get(name); !ok {
					return record, fmt.Errorf("select_fields: record %d has no member %q", i, name)
				}
			}
			return record.Select(names...), nil
		})
	},
}

var dropFieldsVerb = Verb{
	Name: "drop_fields", Params: []string{"records", "names"},
	Summary: "The records, or one object, without the members, which they need not have.",
	Func: func(v pyjson.Value, names []string) (pyjson.Value, error) {
		return changeEach(v, func(_ int, record pyjson.Value) (pyjson.Value, error) { return record.Without(names...), nil })
	},
}

// changeEach changes every record of a list, or one object.
func changeEach(v pyjson.Value, change func(int, pyjson.Value) (pyjson.Value, error)) (pyjson.Value, error) {
	switch v.Kind() {
	case pyjson.Object:
		return change(0, v)
	case pyjson.Array:
	default:
		return v, fmt.Errorf("expected records or an object, not %s", v.Kind())
	}
	out := make([]pyjson.Value, v.Len())
	for i, record := range v.Items() {
		if record.Kind() != pyjson.Object {
			return v, fmt.Errorf("record %d must be an object, not %s", i, record.Kind())
		}
		changed, err := change(i, record)
		if err != nil {
			return v, err
		}
		out[i] = changed
	}
	return pyjson.OfArray(out...), nil
}
