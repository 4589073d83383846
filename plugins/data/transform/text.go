package transform

import (
	"fmt"
	"path"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// mapText applies f to a string or to each string of a column; missing cells stay
// missing.
func mapText(o Operand, f func(string) (string, error)) (Operand, error) {
	if o.Column == nil {
		if o.Value.Kind() != table.Text {
			return o, fmt.Errorf("expected a string, not %s", o.Value.Kind())
		}
		s, err := f(o.Value.String())
		return Operand{Value: table.TextValue(s)}, err
	}
	c := o.Column
	if c.Kind() != table.Text && c.Len() > 0 {
		return o, fmt.Errorf("column %q holds %s cells; convert them to strings with text(…)", c.Name(), c.Kind())
	}
	out, valid := make([]string, c.Len()), make([]bool, c.Len())
	for i := range out {
		if c.IsMissing(i) {
			continue
		}
		s, err := f(c.Text(i))
		if err != nil {
			return o, fmt.Errorf("row %d: %w", i, err)
		}
		out[i], valid[i] = s, true
	}
	return Operand{Column: table.FromTexts(c.Name(), out, valid)}, nil
}

// tested lifts a test of a string by another; it does not hold for missing cells.
func tested(f func(s, by string) bool) func(Operand, string) (Operand, error) {
	return func(o Operand, by string) (Operand, error) {
		if o.Column == nil {
			return Operand{Value: table.BoolValue(o.Value.Kind() == table.Text && f(o.Value.String(), by))}, nil
		}
		c := o.Column
		if c.Kind() != table.Text && c.Len() > 0 {
			return o, fmt.Errorf("column %q holds %s cells; convert them to strings with text(…)", c.Name(), c.Kind())
		}
		holds := func(i int) bool { return !c.IsMissing(i) && f(c.Text(i), by) }
		return Operand{Column: table.FromBools(c.Name(), table.Collect(c.Len(), holds), nil)}, nil
	}
}

// plain lifts a function that cannot fail.
func plain(f func(string) string) func(Operand) (Operand, error) {
	return func(o Operand) (Operand, error) {
		return mapText(o, func(s string) (string, error) { return f(s), nil })
	}
}

var lowerVerb = Verb{Name: "lower", Params: []string{"string"}, Summary: "The string in lower case.", Func: plain(strings.ToLower)}

var upperVerb = Verb{Name: "upper", Params: []string{"string"}, Summary: "The string in upper case.", Func: plain(strings.ToUpper)}

var stripVerb = Verb{Name: "strip", Params: []string{"string"}, Summary: "The string without leading and trailing white space.", Source: "str.strip()", Func: plain(pytext.Strip)}

var basenameVerb = Verb{Name: "basename", Params: []string{"path"}, Summary: "A path's last part.", Func: plain(path.Base)}

var stemVerb = Verb{
	Name: "stem", Params: []string{"path"}, Summary: "A path's last part without its last suffix.",
	Detail: "\"a/b.tar.gz\" gives \"b.tar\".", Source: "pathlib.PurePath.stem", Func: plain(stemOf),
}

var folderVerb = Verb{Name: "folder", Params: []string{"path"}, Summary: `The path without its last part, or "." of one part.`, Func: plain(path.Dir)}

var beforeVerb = Verb{
	Name: "before", Params: []string{"string", "separator"},
	Summary: "The string before the first separator, or all of it without one.",
	Func: func(o Operand, sep string) (Operand, error) {
		return plain(func(s string) string { head, _, _ := strings.Cut(s, sep); return head })(o)
	},
}

var afterVerb = Verb{
	Name: "after", Params: []string{"string", "separator"},
	Summary: `The string after the first separator, or "" without one.`,
	Func: func(o Operand, sep string) (Operand, error) {
		return plain(func(s string) string { _, tail, _ := strings.Cut(s, sep); return tail })(o)
	},
}

var partVerb = Verb{
	Name: "part", Params: []string{"string", "separator", "index"},
	Summary: "A part of the string split at every separator; 0 is the first, -1 the last.",
	Detail:  "Too few parts are an error.",
	Source:  "string.split(separator)[index]",
	Func: func(o Operand, sep string, index int) (Operand, error) {
		return mapText(o, func(s string) (string, error) {
			parts := strings.Split(s, sep)
			at := index
			if at < 0 {
				at += len(parts)
			}
			if at < 0 || at >= len(parts) {
				return "", fmt.Errorf("part %d of %q: it has %d parts", index, s, len(parts))
			}
			return parts[at], nil
		})
	},
}

var substrVerb = Verb{
	Name: "substr", Params: []string{"string", "start", "length"},
	Summary: "At most length characters from start, 0 the first; a negative length takes all.",
	Detail:  "A negative start counts from the end.",
	Source:  "string[start:][:length]",
	Func: func(o Operand, start, length int) (Operand, error) {
		return mapText(o, func(s string) (string, error) {
			r := []rune(s)
			lo := min(start, len(r))
			if start < 0 {
				lo = max(len(r)+start, 0)
			}
			hi := len(r)
			if length >= 0 {
				hi = min(lo+length, len(r))
			}
			return string(r[lo:hi]), nil
		})
	},
}

var replaceVerb = Verb{
	Name: "replace", Params: []string{"string", "old", "new"},
	Summary: "The string with every old replaced by new.",
	Func: func(o Operand, old, with string) (Operand, error) {
		return mapText(o, func(s string) (string, error) { return strings.ReplaceAll(s, old, with), nil })
	},
}

var containsTextVerb = Verb{
	Name: "contains_text", Params: []string{"string", "part"},
	Summary: "Whether the string contains the part.",
	Func:    tested(strings.Contains),
}

var startsWithVerb = Verb{
	Name: "startswith", Params: []string{"string", "prefix"},
	Summary: "Whether the string starts with the prefix.",
	Func:    tested(strings.HasPrefix),
}

var endsWithVerb = Verb{
	Name: "endswith", Params: []string{"string", "suffix"},
	Summary: "Whether the string ends with the suffix.",
	Func:    tested(strings.HasSuffix),
}

var padVerb = Verb{
	Name: "zfill", Params: []string{"value", "width"},
	Summary: "An integer or string padded with leading zeros to at least width characters.",
	Source:  "f\"{value:0{width}d}\"",
	Func: func(o Operand, width int) (Operand, error) {
		t, err := toText(o)
		if err != nil {
			return o, err
		}
		return mapText(t, func(s string) (string, error) {
			sign := ""
			if strings.HasPrefix(s, "-") {
				sign, s = "-", s[1:]
			}
			return sign + strings.Repeat("0", max(0, width-len(sign)-len(s))) + s, nil
		})
	},
}

var textVerb = Verb{
	Name: "text", Params: []string{"value"},
	Summary: "Numbers and booleans as strings, as in Python; missing cells stay.",
	Source:  "str(value)",
	Func:    toText,
}

func toText(o Operand) (Operand, error) {
	if o.Column == nil {
		return Operand{Value: table.TextValue(o.Value.String())}, nil
	}
	c := o.Column
	if c.Kind() == table.Text {
		return o, nil
	}
	valid := table.Collect(c.Len(), func(i int) bool { return !c.IsMissing(i) })
	return Operand{Column: table.FromTexts(c.Name(), c.Texts(), valid)}, nil
}

var integerVerb = Verb{
	Name: "integer", Params: []string{"value"},
	Summary: "Strings, floats and booleans as integers; floats are truncated.",
	Detail:  "Another string or a missing cell is an error.",
	Source:  "int(value)",
	Func: func(o Operand) (Operand, error) {
		if o.Column == nil {
			n, err := toInteger(o.Value)
			return Operand{Value: n}, err
		}
		if o.Column.Kind() == table.Int64 {
			return o, nil
		}
		out := make([]table.Value, o.Len())
		for i := range out {
			n, err := toInteger(o.Column.Value(i))
			if err != nil {
				return o, fmt.Errorf("row %d: %w", i, err)
			}
			out[i] = n
		}
		if len(out) == 0 {
			return Operand{Column: table.FromInts(o.Column.Name(), nil)}, nil
		}
		return Operand{Column: table.FromValues(o.Column.Name(), out)}, nil
	},
}

func toInteger(v table.Value) (table.Value, error) {
	n, ok := pytext.Int(v)
	switch {
	case v.IsMissing():
		return n, fmt.Errorf("a missing cell is not an integer")
	case !ok:
		return n, fmt.Errorf("%q is not an integer of at most 64 bits", v)
	}
	return n, nil
}

var realVerb = Verb{
	Name: "real", Params: []string{"value"},
	Summary: "Numbers and booleans as floats, so that 0 is written as 0.0.",
	Source:  "float(value)",
	Func: func(o Operand) (Operand, error) {
		if !isNumeric(kindOf(o)) {
			return o, fmt.Errorf("real works on numbers and booleans, not on %s cells", kindOf(o))
		}
		if o.Column == nil {
			return Operand{Value: table.FloatValue(o.Value.Float())}, nil
		}
		return Operand{Column: table.FromFloats(o.Column.Name(), o.Column.Floats())}, nil
	},
}

var listHoldsVerb = Verb{
	Name: "list_holds", Params: []string{"string", "separator", "number"},
	Summary: "Whether a string that lists integers has the number, a column or one; empty items are skipped.",
	Detail:  "Another item is an error. A missing string has none.",
	Source:  "number in [int(x) for x in string.split(separator) if x != \"\"]",
	Func: func(lists *table.Column, sep string, number Operand) (*table.Column, error) {
		if n := number.Len(); n >= 0 && n != lists.Len() {
			return nil, fmt.Errorf("list_holds: the columns have %d and %d rows", lists.Len(), n)
		}
		out := make([]bool, lists.Len())
		for i := range out {
			want := number.at(i).Exact()
			for item := range strings.SplitSeq(lists.Text(i), sep) {
				if item == "" {
					continue
				}
				n, err := toInteger(table.TextValue(item))
				if err != nil {
					return nil, fmt.Errorf("list_holds: row %d: %w", i, err)
				}
				out[i] = out[i] || n.Exact() == want
			}
		}
		return table.FromBools(lists.Name(), out, nil), nil
	},
}
