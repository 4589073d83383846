package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNarrow reads numbers that fit few bytes, and files in which they end to
// do so, and compares them with what strconv reads.
func TestNarrow(t *testing.T) {
	for name, cells := range map[string][]string{
		"decimals":         {"0.25", "0.75", "1.00", "", "-0.50"},
		"more places":      {"0.5", "", "0.25", "0.125", "0.0625", "7.0", "-3.25"},
		"fewer places":     {"0.123456789", "0.5", "2.1", "0.0"},
		"large":            {"2147483.647", "-2147483.647", "2147483.648"},
		"many digits":      {"0.5", "0.1234567890123"},
		"minus zero":       {"0.5", "-0.0"},
		"exponent":         {"0.5", "1e-3"},
		"infinity":         {"0.5", "inf", "-inf"},
		"whole":            {"0.5", "7", "-12"},
		"far apart":        {"0.5", "1000000.0", "0.00000001"},
		"zeros":            {"0.0", "0.000000000001", "0.0"},
		"places too many":  {"0.5", "0.0000000000000000001"},
		"small integers":   {"1", "-128", "127", "0"},
		"larger integers":  {"1", "128", "-129"},
		"integers, a gap":  {"1", "", "3"},
		"no values at all": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var in strings.Builder
			in.WriteString("v,x\n")
			var want []float64
			for i := range 6000 { // enough for a guess
				cell := cells[i*i%len(cells)]
				if i > 5500 { // what comes first is narrow for sure
					cell = cells[i%len(cells)]
				} else if i < 3 {
					cell = cells[0]
				}
				fmt.Fprintf(&in, "%s,1\n", cell)
				f, err := strconv.ParseFloat(cell, 64)
				if err != nil {
					f = math.NaN()
				}
				want = append(want, f)
			}
			for _, chunk := range []int{0, 2 * 2 * 1024} {
				tb := read(t, in.String(), ReadOptions{chunkCells: chunk})
				sameFloats(t, tb.cols[0], want)
				rows := rand.New(rand.NewPCG(1, 1)).Perm(len(want))
				rows[17] = -1
				taken := make([]float64, len(rows))
				for i, r := range rows {
					if taken[i] = math.NaN(); r >= 0 {
						taken[i] = want[r]
					}
				}
				sameFloats(t, tb.Take(rows).cols[0], taken)
				sameFloats(t, tb.Slice(1000, 3000).cols[0], want[1000:3000])
				checkBounds(t, tb.cols[0], want)
				checkBounds(t, tb.Take(rows).cols[0], taken)
			}
		})
	}
}

func sameFloats(t *testing.T, c *Column, want []float64) {
	t.Helper()
	memory := make([]float64, 10, len(want))
	for _, got := range [][]float64{c.Floats(), c.FloatsInto(memory)} {
		if len(got) != len(want) {
			t.Fatalf("%d cells, want %d", len(got), len(want))
		}
		for i, f := range got {
			if c.kind == Int64 && f == want[i] {
				continue
			}
			if math.Float64bits(f) != math.Float64bits(want[i]) && !(f != f && want[i] != want[i]) || c.IsMissing(i) != (f != f) {
				t.Fatalf("cell %d: %v, want %v", i, f, want[i])
			}
			if one := c.Float(i); math.Float64bits(one) != math.Float64bits(f) && one == one {
				t.Fatalf("cell %d alone: %v, want %v", i, one, f)
			}
		}
	}
	if c.kind == Int64 {
		for i, v := range c.IntsInto(make([]int64, 3)) {
			if float64(v) != want[i] {
				t.Fatalf("cell %d: %d, want %v", i, v, want[i])
			}
		}
	}
}

func checkBounds(t *testing.T, c *Column, want []float64) {
	t.Helper()
	lo, hi, ok := c.Bounds()
	if !ok {
		return
	}
	if least, most := slices.Min(want), slices.Max(want); !(lo <= least && hi >= most && lo > -math.MaxFloat64 && hi < math.MaxFloat64) {
		t.Errorf("bounds %v and %v of cells from %v to %v", lo, hi, least, most)
	}
}

// TestNarrowIsUsed checks that it is not only allowed to be.
func TestNarrowIsUsed(t *testing.T) {
	in := "a,b,c,d\n" + strings.Repeat("1,0.25,300,0.1234567890123\n", 6000)
	tb := read(t, in, ReadOptions{})
	a, b, c, d := tb.cols[0].vecs[0], tb.cols[1].vecs[0], tb.cols[2].vecs[0], tb.cols[3].vecs[0]
	if len(a.small) != 6000 || len(b.decimals) != 6000 || len(c.ints) != 6000 || len(d.floats) != 6000 {
		t.Errorf("%d small integers, %d decimals, %d integers, %d floats", len(a.small), len(b.decimals), len(c.ints), len(d.floats))
	}
	if lo, hi, ok := tb.cols[1].Bounds(); lo != 0.25 || hi != 0.25 || !ok {
		t.Errorf("bounds %v, %v, %v", lo, hi, ok)
	}
}
