package ujson

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// Type is the type that pandas gives a column.
type Type uint8

// The types. Object columns hold values as they are: strings, lists, objects
// and whatever stands next to them.
const (
	object Type = iota
	Bool
	Int64
	Uint64
	Float64
)

// Columns are the columns that pandas.read_json makes of records. Add every record,
// or Merge the Columns of the records that follow, before any question.
type Columns struct {
	list []*column
	at   map[string]int
	rows int
}

// column summarizes the values of a member.
type column struct {
	name   string
	count  int // records that have the member
	seen   seen
	astext bool // cells are to be strings; see Texts
}

// seen is a set of the cases that pandas distinguishes in a column.
type seen uint16

const (
	seenNull seen = 1 << iota
	seenBool
	seenInt
	seenNegative // an integer below zero
	seenUint     // one above the largest int64
	seenFloat
	seenText
	seenObject // a string that is not a number, a list or an object
	seenBroken // a number that is not whole or does not fit an int64
)

var seenOf = [...]seen{
	cellNull: seenNull, cellBool: seenBool, cellInt: seenInt, cellUint: seenUint,
	cellFloat: seenFloat, cellText: seenText, cellNested: seenObject,
}

// has reports whether any of the given things was seen.
func (s seen) has(any seen) bool { return s&any != 0 }

// Add takes a record into account.
func (c *Columns) Add(r *Record) {
	c.rows++
	for i, name := range r.names {
		if i >= len(c.list) || c.list[i].name != name {
			c.named(name).add(r.cells[i])
		} else {
			c.list[i].add(r.cells[i])
		}
	}
}

func (c *Columns) named(name string) *column {
	if at, ok := c.at[name]; ok {
		return c.list[at]
	}
	if c.at == nil {
		c.at = map[string]int{}
	}
	c.at[name] = len(c.list)
	col := &column{name: name}
	c.list = append(c.list, col)
	return col
}

// Merge takes the records of others, which follow, into account.
func (c *Columns) Merge(others *Columns) {
	c.rows += others.rows
	for _, o := range others.list {
		col := c.named(o.name)
		col.count += o.count
		col.seen |= o.seen
	}
}

func (c *column) add(x cell) {
	c.count++
	c.seen |= seenOf[x.kind]
	if c.seen.has(seenObject) || x.kind == cellNull {
		return
	}
	f, ok := x.float()
	switch {
	case !ok:
		c.seen |= seenObject
	case f != math.Trunc(f) || f < -1<<63 || f >= 1<<63:
		c.seen |= seenBroken
	}
	if x.kind == cellInt && int64(x.bits) < 0 {
		c.seen |= seenNegative
	}
}

// float converts a single value as Python's float does.
func (x cell) float() (float64, bool) {
	switch x.kind {
	case cellNull, cellGap:
		return math.NaN(), true
	case cellBool, cellUint:
		return float64(x.bits), true
	case cellInt:
		return float64(int64(x.bits)), true
	case cellFloat:
		return math.Float64frombits(x.bits), true
	case cellText:
		if v, err := x.value(); err == nil {
			return pytext.Float(v.Text())
		}
	}
	return 0, false
}

// typ returns the column's type: that of maybe_convert_objects, then those that
// read_json tries: float64 for strings and the like, int64 for whole floats.
func (c *column) typ(rows int) Type {
	missing := c.count < rows || c.seen.has(seenNull)
	switch {
	case c.seen.has(seenObject):
		return object
	case c.seen == seenBool && !missing:
		return Bool
	case missing || c.seen.has(seenBool|seenText|seenFloat) || c.seen.has(seenUint) && c.seen.has(seenNegative):
		if missing || c.seen.has(seenBroken) {
			return Float64
		}
		return Int64
	case c.seen.has(seenUint):
		return Uint64
	}
	return Int64
}

// Names returns the names of the columns in order of first appearance.
func (c *Columns) Names() []string {
	return lists.Of(c.list, func(col *column) string { return col.name })
}

// Texts makes a column one of strings, as DataFrame[name].astype(str) does.
func (c *Columns) Texts(name string) error {
	at, err := c.find(name)
	if err == nil {
		c.list[at].astext = true
	}
	return err
}

// find returns the place of a column.
func (c *Columns) find(name string) (int, error) {
	at, ok := c.at[name]
	if !ok {
		return 0, fmt.Errorf("no column %q (columns: %s)", name, strings.Join(c.Names(), ", "))
	}
	return at, nil
}

// Check refuses names at which pandas begins to guess: those of dates, and
// names that are all numbers.
func (c *Columns) Check() error {
	numbers := len(c.list) > 0
	for _, col := range c.list {
		name := strings.ToLower(col.name)
		if strings.HasSuffix(name, "_at") || strings.HasSuffix(name, "_time") || strings.HasPrefix(name, "timestamp") ||
			slices.Contains([]string{"modified", "date", "datetime"}, name) {
			return fmt.Errorf("pandas looks for dates in a member of the name %q, which is not supported", col.name)
		}
		_, number := pytext.Float(col.name)
		numbers = numbers && number
	}
	if numbers {
		return fmt.Errorf("the names of all members are numbers (%s), which pandas does not leave as they are", strings.Join(c.Names(), ", "))
	}
	return nil
}

// Value returns a record's value of a column as pandas has it: missing values
// are NaN or null.
func (c *Columns) Value(r *Record, name string) (pyjson.Value, error) {
	at, err := c.find(name)
	if err != nil {
		return pyjson.Value{}, err
	}
	return c.list[at].value(r.find(name, at), c.rows)
}

func (c *column) value(x cell, rows int) (pyjson.Value, error) {
	v, err := c.typed(x, rows)
	if err != nil || !c.astext {
		return v, err
	}
	return textOf(v)
}

func (c *column) typed(x cell, rows int) (pyjson.Value, error) {
	switch c.typ(rows) {
	case Int64:
		if x.kind == cellInt && !c.seen.has(seenFloat|seenText|seenBool) {
			return pyjson.OfInt(int64(x.bits)), nil
		}
		f, _ := x.float()
		return pyjson.OfInt(int64(f)), nil
	case Float64:
		f, _ := x.float()
		return pyjson.OfFloat(f), nil
	case Uint64:
		return pyjson.OfUint(x.bits), nil
	}
	return x.value()
}

// textOf returns Python's str of a single value.
func textOf(v pyjson.Value) (pyjson.Value, error) {
	switch v.Kind() {
	case pyjson.String:
		return v, nil
	case pyjson.Null:
		return pyjson.OfString("None"), nil
	case pyjson.Bool:
		return pyjson.OfString(table.BoolValue(v.Bool()).String()), nil
	case pyjson.Float:
		f, _ := v.Float()
		return pyjson.OfString(spell(f)), nil
	case pyjson.Int:
		b, err := Append(nil, v)
		return pyjson.OfString(string(b)), err
	}
	return v, fmt.Errorf("%s is not a single value", v.Kind())
}

func spell(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return string(table.AppendFormat(nil, f, 'f', 0))
	}
	return table.FormatFloat(f)
}

// AppendLine appends the record as a line of DataFrame.to_json(orient="records",
// lines=True), with the named columns only, in that order, or with all.
func (c *Columns) AppendLine(b []byte, r *Record, names []string) ([]byte, error) {
	columns := c.list
	if names != nil {
		columns = make([]*column, len(names))
		for i, name := range names {
			at, err := c.find(name)
			if err != nil {
				return b, err
			}
			columns[i] = c.list[at]
		}
	}
	b = append(b, '{')
	for i, col := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		v, err := col.value(r.find(col.name, c.at[col.name]), c.rows)
		if err != nil {
			return b, fmt.Errorf("column %q: %w", col.name, err)
		}
		if b, err = appendText(b, col.name); err != nil {
			return b, err
		}
		if b, err = Append(append(b, ':'), v); err != nil {
			return b, fmt.Errorf("column %q: %w", col.name, err)
		}
	}
	return append(b, '}', '\n'), nil
}
