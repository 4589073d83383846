package table_test

import (
	"math"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// TestCompare orders numbers by their exact values: each is greater than those before,
// and those of one line are equal.
func TestCompare(t *testing.T) {
	ordered := [][]table.Value{
		{table.FloatValue(math.Inf(-1))},
		{table.FloatValue(-0x1.8p63)},
		{table.IntValue(math.MinInt64), table.FloatValue(-0x1p63)},
		{table.IntValue(-1), table.FloatValue(-1)},
		{table.IntValue(0), table.FloatValue(math.Copysign(0, -1)), table.BoolValue(false), table.UintValue(0)},
		{table.FloatValue(0.5)},
		{table.IntValue(1), table.BoolValue(true), table.FloatValue(1)},
		{table.IntValue(1 << 53), table.FloatValue(0x1p53), table.UintValue(1 << 53)},
		{table.IntValue(1<<53 + 1)},
		{table.IntValue(math.MaxInt64), table.UintValue(math.MaxInt64)},
		{table.UintValue(1 << 63), table.FloatValue(0x1p63)},
		{table.UintValue(1<<63 + 1)},
		{table.UintValue(math.MaxUint64)},
		{table.FloatValue(0x1p64)},
		{table.FloatValue(math.Inf(1))},
	}
	for i, a := range ordered {
		for k, b := range ordered {
			for _, x := range a {
				for _, y := range b {
					want := 0
					if i != k {
						want = 2*boolInt(i > k) - 1
					}
					if got := x.Compare(y); got != want {
						t.Errorf("%s %s compares with %s %s as %d, want %d", x.Kind(), x, y.Kind(), y, got, want)
					}
					if (x.Exact() == y.Exact()) != (want == 0) {
						t.Errorf("%s %s and %s %s: exact values %v and %v", x.Kind(), x, y.Kind(), y, x.Exact(), y.Exact())
					}
				}
			}
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
