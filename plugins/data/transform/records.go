package transform

import (
	"fmt"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// recordVerbs work on the records of JSON files, and on rows by groups and by
// keys as such files need it.
var recordVerbs = []Verb{
	objectVerb, withFieldsVerb, pandasRecordsVerb,
	trainTestSplitEachVerb, positionsVerb, cumulativeSumVerb,
}

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
