package prep

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// The opaque types of the language.
var (
	tableType     = cty.Capsule("table", reflect.TypeFor[table.Table]())
	columnType    = cty.Capsule("column", reflect.TypeFor[table.Column]())
	rowsType      = cty.Capsule("rows", reflect.TypeFor[transform.Rows]())
	cellType      = cty.Capsule("float", reflect.TypeFor[table.Value]())
	generatorType = cty.Capsule("random generator", reflect.TypeFor[transform.PythonState]())
	jsonType      = cty.Capsule("JSON value", reflect.TypeFor[pyjson.Value]())
)

// held returns the Go value of an opaque type that a value of the language holds.
func held[T any](v cty.Value) (x *T, ok bool) {
	if v.Type().IsCapsuleType() && !v.IsNull() {
		x, ok = v.EncapsulatedValue().(*T)
	}
	return x, ok
}

// fromCell returns a cell as a value of the language. A float that is an
// integer stays a float, which plain numbers do not tell apart.
func fromCell(v table.Value) cty.Value {
	switch v.Kind() {
	case table.Text:
		return cty.StringVal(v.String())
	case table.Bool:
		return cty.BoolVal(v.Bool())
	case table.Int64:
		return cty.NumberIntVal(v.Int())
	case table.Uint64:
		return cty.NumberVal(new(big.Float).SetUint64(uint64(v.Int())))
	case table.Missing:
		return cty.NullVal(cty.Number)
	}
	return cty.CapsuleVal(cellType, &v)
}

// toCell returns a single value of the language as a cell.
func toCell(v cty.Value) (table.Value, error) {
	switch t := v.Type(); {
	case v.IsNull():
		return table.Value{}, nil
	case t == cty.String:
		return table.TextValue(v.AsString()), nil
	case t == cty.Bool:
		return table.BoolValue(v.True()), nil
	case t == cty.Number:
		return table.NumberValue(v.AsBigFloat()), nil
	}
	if cell, ok := held[table.Value](v); ok {
		return *cell, nil
	}
	return table.Value{}, fmt.Errorf("expected a number, a string or a condition, not %s", describe(v))
}

// toTable returns a table; rows that stay in a file are read.
func toTable(v cty.Value) (*table.Table, error) {
	switch r := rowsIn(v).(type) {
	case transform.TableRows:
		return r.Table, nil
	case transform.Tabular:
		return r.Table()
	}
	return nil, fmt.Errorf("expected a table, not %s", describe(v))
}

func fromColumn(c *table.Column) cty.Value { return cty.CapsuleVal(columnType, c) }

func asColumn(v cty.Value) (*table.Column, bool) { return held[table.Column](v) }

// toOperand returns a column or a single value as an operand.
func toOperand(v cty.Value) (transform.Operand, error) {
	if c, ok := asColumn(v); ok {
		return transform.Operand{Column: c}, nil
	}
	cell, err := toCell(v)
	return transform.Operand{Value: cell}, err
}

func fromOperand(o transform.Operand) cty.Value {
	if o.Column != nil {
		return fromColumn(o.Column)
	}
	return fromCell(o.Value)
}

// toCells returns a column or a list as cells.
func toCells(v cty.Value) ([]table.Value, error) {
	if c, ok := asColumn(v); ok {
		return c.Values(), nil
	}
	if v.IsNull() || !v.CanIterateElements() || isObject(v) {
		return nil, fmt.Errorf("expected a column or a list, not %s", describe(v))
	}
	return listOf(v, toCell)
}

// listOf converts the items of a list.
func listOf[T any](v cty.Value, convert func(cty.Value) (T, error)) ([]T, error) {
	items := v.AsValueSlice()
	return table.TryCollect(len(items), func(i int) (T, error) { return convert(items[i]) })
}

// isList reports whether a value is a list, isObject whether it has names.
func isList(v cty.Value) bool {
	return !v.IsNull() && (v.Type().IsTupleType() || v.Type().IsListType())
}
func isObject(v cty.Value) bool {
	return !v.IsNull() && (v.Type().IsObjectType() || v.Type().IsMapType())
}

func fromCells(cells []table.Value) cty.Value { return cty.TupleVal(lists.Of(cells, fromCell)) }

// rowsIn returns the rows that an opaque value holds; nil if there are none.
func rowsIn(v cty.Value) transform.Rows {
	if t, ok := held[table.Table](v); ok {
		return transform.TableRows{Table: t}
	}
	if c, ok := asColumn(v); ok {
		return transform.ColumnRows{Column: c}
	}
	if rows, ok := held[transform.Rows](v); ok {
		return *rows
	}
	return nil
}

// toRows returns anything with rows.
func toRows(v cty.Value) (transform.Rows, error) {
	if rows := rowsIn(v); rows != nil {
		return rows, nil
	}
	if isList(v) {
		cells, err := toCells(v)
		return transform.ListRows(cells), err
	}
	return nil, fmt.Errorf("expected a table, a column or a list, not %s", describe(v))
}

func fromRows(r transform.Rows) cty.Value {
	switch r := r.(type) {
	case transform.TableRows:
		return cty.CapsuleVal(tableType, r.Table)
	case transform.ColumnRows:
		return fromColumn(r.Column)
	case transform.ListRows:
		return fromCells(r)
	}
	return cty.CapsuleVal(rowsType, &r)
}

// fromJSON returns a JSON value: a list as rows of records, an object as it is,
// anything else as a single value. NaN and integers that no cell holds stay as
// they are.
func fromJSON(v pyjson.Value) (cty.Value, error) {
	switch v.Kind() {
	case pyjson.Array:
		return fromRows(transform.Records(v.Items())), nil
	case pyjson.Object:
		return cty.CapsuleVal(jsonType, &v), nil
	case pyjson.Int:
		_, signed := v.Int()
		if _, unsigned := v.Uint(); !signed && !unsigned {
			return cty.CapsuleVal(jsonType, &v), nil
		}
	case pyjson.Float:
		if f, _ := v.Float(); math.IsNaN(f) {
			return cty.CapsuleVal(jsonType, &v), nil
		}
	}
	cell, err := transform.JSONCell(v)
	return fromCell(cell), err
}

// toJSON is the reverse of fromJSON. A column or a list becomes a list, null
// null.
func toJSON(v cty.Value) (pyjson.Value, error) {
	switch t := v.Type(); {
	case v.IsNull():
		return pyjson.Value{}, nil
	case t == jsonType:
		return *v.EncapsulatedValue().(*pyjson.Value), nil
	case isList(v):
		items, err := listOf(v, toJSON)
		return pyjson.OfArray(items...), err
	case t == rowsType:
		if records, err := toRecords(v); err == nil {
			return pyjson.OfArray(records...), nil
		}
	default:
		if c, ok := asColumn(v); ok {
			return transform.JSONList(c), nil
		}
		if cell, err := toCell(v); err == nil {
			return transform.JSONOf(cell), nil
		}
	}
	return pyjson.Value{}, fmt.Errorf("expected records, a value read from JSON, a list or a single value, not %s; object({ name = value }) creates an object", describe(v))
}

func toRecords(v cty.Value) (transform.Records, error) {
	switch r := rowsIn(v).(type) {
	case transform.Records:
		return r, nil
	case *transform.Frame:
		return r.Records()
	}
	return nil, fmt.Errorf("expected records, as json(…) returns them, not %s", describe(v))
}

// describe names the kind of a value, for messages.
func describe(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t.IsObjectType():
		return "an object"
	case t.IsTupleType():
		return "a list"
	default:
		return "a " + t.FriendlyName()
	}
}

// isOpaque reports whether a value is or holds a value that only verbs take.
func isOpaque(v cty.Value) bool {
	if v.Type().IsCapsuleType() {
		return true
	}
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() || v.Type().IsListType() || v.Type().IsMapType() {
		return false
	}
	return slices.ContainsFunc(v.AsValueSlice(), isOpaque)
}

// toGenerator returns a seed, or what an earlier draw left, as a generator.
func toGenerator(v cty.Value) (transform.PythonState, error) {
	if state, ok := held[transform.PythonState](v); ok {
		return *state, nil
	}
	var seed int64
	if v.Type() != cty.Number || v.IsNull() || gocty.FromCtyValue(v, &seed) != nil {
		return transform.PythonState{}, fmt.Errorf("expected a seed (an integer) or the next of an earlier draw, not %s", describe(v))
	}
	return transform.SeedPython(seed), nil
}

// toChoices returns a column or a list, whose members may be lists, as options
// to choose from.
func toChoices(v cty.Value) (transform.Options, error) {
	if c, ok := asColumn(v); ok {
		v = fromCells(c.Values())
	}
	if !isList(v) {
		return nil, fmt.Errorf("expected a column or a list, not %s", describe(v))
	}
	return listOf(v, func(item cty.Value) (o transform.Option, err error) {
		if _, column := asColumn(item); column || isList(item) {
			o.Among, err = toChoices(item)
		} else {
			o.Value, err = toCell(item)
		}
		return o, err
	})
}
