package prep

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/plugins/data/transform"
)

// toGenerator returns a seed, or what an earlier draw left, as a generator.
func toGenerator(v cty.Value) (transform.PythonState, error) {
	if v.Type() == generatorType && !v.IsNull() {
		return *v.EncapsulatedValue().(*transform.PythonState), nil
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
	if v.IsNull() || !v.Type().IsTupleType() && !v.Type().IsListType() {
		return nil, fmt.Errorf("expected a column or a list, not %s", describe(v))
	}
	out := make(transform.Options, 0, v.LengthInt())
	for _, item := range v.AsValueSlice() {
		var o transform.Option
		var err error
		if t := item.Type(); !item.IsNull() && (t.IsTupleType() || t.IsListType() || t == columnType) {
			o.Among, err = toChoices(item)
		} else {
			o.Value, err = toCell(item)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}
