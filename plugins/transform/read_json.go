package transform

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/mleflow/mleflow/plugins/document"
	"github.com/mleflow/mleflow/plugins/table"
)

// Records are rows of JSON values.
type Records []document.Value

// Len implements Rows.
func (r Records) Len() int { return len(r) }

// Take implements Rows.
func (r Records) Take(rows []int) Rows {
	out := make(Records, len(rows))
	for i, n := range rows {
		out[i] = r[n]
	}
	return out
}

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
		cell, err := m.Cell()
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

// JSONOptions are the options of json.
type JSONOptions struct {
	Encoding string `verb:"encoding"`
}

var jsonVerb = Verb{
	Name: "json", Params: []string{"path", "options"},
	Summary: "The value in a JSON file of the raw folder; a list is rows of records.",
	Detail: "Read as Python's json reads it: members keep their order, whole numbers every digit. records.name is the column of a member. " +
		"Option encoding = \"latin1\" takes every byte as one character.",
	Source: "json.load",
	Func:   readJSON,
}

func readJSON(in *Input, path string, o *JSONOptions) (document.Value, error) {
	data, err := fs.ReadFile(in.Raw, path)
	if err != nil {
		return document.Value{}, fmt.Errorf("json: %w", err)
	}
	switch o.Encoding {
	case "", "utf-8":
	case "latin1":
		data = fromLatin1(data)
	default:
		return document.Value{}, fmt.Errorf("json %s: encoding = %q: write \"utf-8\" or \"latin1\"", path, o.Encoding)
	}
	v, err := document.Parse(data)
	if err != nil {
		return v, fmt.Errorf("json %s: %w", path, err)
	}
	return v, nil
}

func fromLatin1(data []byte) []byte {
	out := make([]rune, len(data))
	for i, c := range data {
		out[i] = rune(c)
	}
	return []byte(string(out))
}

var jsonLinesVerb = Verb{
	Name: "json_lines", Params: []string{"path"},
	Summary: "The records of a file of the raw folder with one JSON value a line; empty lines are skipped.",
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
	var out Records
	r := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if len(trimBlanks(line)) > 0 {
			v, err := document.Parse(line)
			if err != nil {
				return nil, fmt.Errorf("json_lines %s: line %d: %w", path, n, err)
			}
			out = append(out, v)
		}
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("json_lines %s: %w", path, err)
		}
	}
}

func trimBlanks(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r' || line[len(line)-1] == ' ') {
		line = line[:len(line)-1]
	}
	return line
}

var namesOfVerb = Verb{
	Name: "names_of", Params: []string{"value"},
	Summary: "The names of an object's members, or of a table's columns, in their order.",
	Source:  "list(value.keys())",
	Func: func(v document.Value) ([]string, error) {
		if v.Kind() != document.Object {
			return nil, fmt.Errorf("names_of: works on an object, not on %s", v.Kind())
		}
		names := []string{}
		for _, m := range v.Members() {
			names = append(names, m.Name)
		}
		return names, nil
	},
}

var selectFieldsVerb = Verb{
	Name: "select_fields", Params: []string{"records", "names"},
	Summary: "The records with the named members only, in the order of the names. A record without one is an error.",
	Source:  "[{name: record[name] for name in names} for record in records]",
	Func: func(r Records, names []string) (Records, error) {
		out := make(Records, len(r))
		for i, v := range r {
			members := make([]document.Member, len(names))
			for k, name := range names {
				m, ok := v.Get(name)
				if !ok {
					return nil, fmt.Errorf("select_fields: record %d has no member %q", i, name)
				}
				members[k] = document.Member{Name: name, Value: m}
			}
			out[i] = document.ObjectOf(members)
		}
		return out, nil
	},
}
