package config

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// maxRange is the largest number of elements of a range.
const maxRange = 1_000_000

// rangeFunc is the standard range without its limit of 1,024 elements for the
// common forms range(n) and range(a, b) over integers; anything else goes to
// the standard function.
var rangeFunc = function.New(&function.Spec{
	Description: "Returns the numbers from start (default 0) up to, but not including, limit, in steps of step (default 1).",
	VarParam:    &function.Parameter{Name: "params", Type: cty.Number},
	Type:        function.StaticReturnType(cty.List(cty.Number)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		from, to := int64(0), int64(0)
		ok := len(args) == 1 || len(args) == 2
		if ok {
			to, ok = wholeNumber(args[len(args)-1])
		}
		if ok && len(args) == 2 {
			from, ok = wholeNumber(args[0])
		}
		if len(args) == 3 && args[2].Equals(cty.Zero).True() {
			return cty.NilVal, function.NewArgErrorf(2, "the step must not be 0")
		}
		if len(args) == 1 && (!ok || to < 0) {
			return cty.NilVal, function.NewArgErrorf(0, "%s is not a count: an integer of at least 0 is needed; range(0, %[1]s) counts down", args[0].AsBigFloat().Text('g', 6))
		}
		if !ok || to <= from {
			return stdlib.RangeFunc.Call(args)
		}
		if to-from > maxRange {
			return cty.NilVal, function.NewArgErrorf(len(args)-1, "a range has at most %d elements", maxRange)
		}
		list := make([]cty.Value, 0, to-from)
		for i := from; i < to; i++ {
			list = append(list, cty.NumberIntVal(i))
		}
		return cty.ListVal(list), nil
	},
})

func wholeNumber(v cty.Value) (int64, bool) {
	f := v.AsBigFloat()
	n, accuracy := f.Int64()
	return n, f.IsInt() && accuracy == 0
}
