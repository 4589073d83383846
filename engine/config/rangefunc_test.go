package config

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestRangeOfCount refuses a count that is none; a range between two numbers may
// go either way.
func TestRangeOfCount(t *testing.T) {
	for _, n := range []float64{-1, 1.5, -0.5} {
		if v, err := rangeFunc.Call([]cty.Value{cty.NumberFloatVal(n)}); err == nil {
			t.Errorf("range(%g) is %#v", n, v)
		}
	}
	for want, args := range map[int][]cty.Value{
		0: {cty.Zero}, 3: {cty.NumberIntVal(3)}, 2: {cty.Zero, cty.NumberIntVal(-2)},
	} {
		if v, err := rangeFunc.Call(args); err != nil || v.LengthInt() != want {
			t.Errorf("range(%#v) is %#v, %v", args, v, err)
		}
	}
}
