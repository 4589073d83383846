package transform

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

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

func readJSON(in *Input, path string, o *jsonOptions) (pyjson.Value, error) {
	f, err := in.Raw.Open(path)
	if err != nil {
		return pyjson.Value{}, fmt.Errorf("json: %w", err)
	}
	defer f.Close()
	text := io.Reader(f)
	switch o.Encoding {
	case "", "utf-8":
	case "latin1":
		text = &latin1{src: f}
	default:
		return pyjson.Value{}, fmt.Errorf("json %s: encoding = %q: write \"utf-8\" or \"latin1\"", path, o.Encoding)
	}
	head := 0
	if o.Head != nil {
		if head = *o.Head; head < 1 {
			return pyjson.Value{}, fmt.Errorf("json %s: head = %d: it must be at least 1", path, head)
		}
	}
	v, err := pyjson.ReadHead(text, head)
	if err != nil {
		return v, fmt.Errorf("json %s: %w", path, err)
	}
	return v, nil
}

// latin1 reads bytes of which each is one character, as UTF-8.
type latin1 struct {
	src  io.Reader
	buf  []byte
	text []byte
	at   int // how much of text was given out
}

// Read implements io.Reader.
func (l *latin1) Read(out []byte) (int, error) {
	if l.at == len(l.text) {
		if l.buf == nil {
			l.buf = make([]byte, 1<<16)
		}
		n, err := l.src.Read(l.buf)
		if n == 0 {
			return 0, err
		}
		l.text, l.at = l.text[:0], 0
		for _, c := range l.buf[:n] {
			l.text = utf8.AppendRune(l.text, rune(c))
		}
	}
	n := copy(out, l.text[l.at:])
	l.at += n
	return n, nil
}

var jsonLinesVerb = Verb{
	Name: "json_lines", Params: []string{"path"},
	Summary: "The records of a file in the raw data, a JSON value per line; empty lines are skipped.",
	Source:  "[json.loads(line) for line in file]",
	Func: func(in *Input, path string) (Records, error) {
		f, err := in.Raw.Open(path)
		if err != nil {
			return nil, fmt.Errorf("json_lines: %w", err)
		}
		defer f.Close()
		return jsonLines(f, path)
	},
}

func jsonLines(f io.Reader, path string) (Records, error) {
	lines := pyjson.NewLines(f)
	var out Records
	for {
		v, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("json_lines %s: %w", path, err)
		}
		out = append(out, v)
	}
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
