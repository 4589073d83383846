package transform

import (
	"fmt"
	"math"

	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

var pandasRecordsVerb = Verb{
	Name: "pandas_records", Params: []string{"records"},
	Summary: "The records as a pandas DataFrame returns them: all have every member, of one type.",
	Detail:  "Members are in order of first appearance. Numbers, unless all are integers, become floats, with NaN for null and missing. Other members, lists and objects included, stay; missing ones become NaN.",
	Source:  "pandas.DataFrame(records).to_dict(orient=\"records\")",
	Func:    pandasRecords,
}

// seen is a set of the cases that pandas distinguishes in a column.
type seen uint8

const (
	seenInt      seen = 1 << iota // an integer of 64 bits
	seenNegative                  // one below zero
	seenUint                      // one above the largest int64
	seenFloat
	seenNull
	seenGap    // a record without the member
	seenObject // any other value, or a larger integer
)

// frameColumn is a member of the records and how it is typed.
type frameColumn struct {
	name  string
	seen  seen
	count int // records that have it
}

func seenOf(v pyjson.Value) seen {
	switch v.Kind() {
	case pyjson.Int:
		if n, ok := v.Int(); ok && n < 0 {
			return seenInt | seenNegative
		} else if ok {
			return seenInt
		}
		if _, ok := v.Uint(); ok {
			return seenUint
		}
	case pyjson.Float:
		return seenFloat
	case pyjson.Null:
		return seenNull
	}
	return seenObject
}

// floats reports whether the column's values become floats.
func (c frameColumn) floats() bool {
	const signs = seenNegative | seenUint
	switch {
	case c.seen&seenObject != 0, c.seen&signs == signs:
		return false
	case c.seen == seenNull:
		return false
	}
	return c.seen&(seenFloat|seenNull|seenGap) != 0
}

// value returns a record's value of the column.
func (c frameColumn) value(record pyjson.Value) pyjson.Value {
	v, ok := record.Get(c.name)
	switch {
	case !ok:
		return pyjson.OfFloat(math.NaN())
	case !c.floats():
		return v
	}
	if f, ok := v.Float(); ok {
		return pyjson.OfFloat(f)
	}
	return pyjson.OfFloat(math.NaN())
}

func pandasRecords(r Records) (Records, error) {
	columns, err := frameColumns(r)
	if err != nil {
		return nil, fmt.Errorf("pandas_records: %w", err)
	}
	out := make(Records, len(r))
	members := make([]pyjson.Member, len(columns))
	for i, record := range r {
		for k, c := range columns {
			members[k] = pyjson.Member{Name: c.name, Value: c.value(record)}
		}
		out[i] = pyjson.OfObject().WithAll(members...)
	}
	return out, nil
}

// frameColumns returns the members of all records in order of first appearance.
func frameColumns(r Records) ([]frameColumn, error) {
	var columns []frameColumn
	at := map[string]int{}
	for i, record := range r {
		if record.Kind() != pyjson.Object {
			return nil, fmt.Errorf("record %d must be an object, not %s", i, record.Kind())
		}
		values := record.Items()
		for k, name := range record.Names() {
			n, ok := at[name]
			if !ok {
				n = len(columns)
				at[name] = n
				columns = append(columns, frameColumn{name: name})
			}
			columns[n].seen |= seenOf(values[k])
			columns[n].count++
		}
	}
	for n := range columns {
		if columns[n].count < len(r) {
			columns[n].seen |= seenGap
		}
	}
	return columns, nil
}
