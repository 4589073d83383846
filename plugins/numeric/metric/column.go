package metric

import (
	"math"
	"strconv"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// finiteFloats returns the column as scikit-learn's check_array sees it: as
// doubles, strings by Python's float(), no missing value and no infinity. No
// rows are refused as well.
func finiteFloats(c *table.Column) ([]float64, error) {
	v, err := anyFloats(c)
	if err != nil {
		return nil, err
	}
	if len(v) == 0 {
		return nil, &Unscorable{Column: c.Name(), Reason: "has no rows"}
	}
	if _, _, ok := c.Bounds(); ok {
		return v, nil
	}
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, &Unscorable{Column: c.Name(), Reason: "row " + strconv.Itoa(i+1) + " is missing or not finite"}
		}
	}
	return v, nil
}

// anyFloats returns the column as doubles, NaN where a cell is missing.
func anyFloats(c *table.Column) ([]float64, error) {
	if c.Kind() != table.Text && c.Kind() != table.Mixed {
		return c.Floats(), nil
	}
	out := make([]float64, c.Len())
	for i := range out {
		v := c.Value(i)
		out[i] = v.Float()
		if v.Kind() != table.Text {
			continue
		}
		x, ok := pytext.Float(v.String())
		if !ok {
			return nil, &Unscorable{Column: c.Name(), Reason: "row " + strconv.Itoa(i+1) + ": " + quote(v.String()) + " is not a number"}
		}
		out[i] = x
	}
	return out, nil
}

// numbers is a numeric column as numpy keeps it: integers stay integers.
type numbers struct {
	ints   []int64 // nil unless the column is Int64
	floats []float64
	truths bool // the column is Bool
}

func finiteNumbers(c *table.Column) (numbers, error) {
	if c.Kind() == table.Int64 && c.Len() > 0 {
		return numbers{ints: c.Ints()}, nil
	}
	v, err := finiteFloats(c)
	return numbers{floats: v, truths: c.Kind() == table.Bool}, err
}

// minus returns a-b; two integer columns subtract as integers, wrapping
// around as numpy's do.
func (a numbers) minus(b numbers) numbers {
	if a.ints != nil && b.ints != nil {
		return numbers{ints: differences(a.ints, b.ints)}
	}
	return numbers{floats: differences(a.asFloats(), b.asFloats())}
}

func differences[T int64 | float64](a, b []T) []T {
	out := make([]T, len(a))
	for i, x := range a {
		out[i] = x - b[i]
	}
	return out
}

// squares returns the squares; those of integers wrap around.
func (a numbers) squares() numbers {
	return a.each(func(x int64) int64 { return x * x }, func(x float64) float64 { return x * x })
}

// sizes returns the absolute values.
func (a numbers) sizes() numbers {
	return a.each(func(x int64) int64 { return max(x, -x) }, math.Abs)
}

func (a numbers) each(ofInt func(int64) int64, ofFloat func(float64) float64) numbers {
	if a.ints != nil {
		return numbers{ints: lists.Of(a.ints, ofInt)}
	}
	return numbers{floats: lists.Of(a.floats, ofFloat)}
}

// average returns the mean, with weights if there are any, as numpy.average does.
func (a numbers) average(weights []float64) float64 {
	switch {
	case weights != nil:
		return weightedMean(a.asFloats(), weights)
	case a.ints != nil:
		return meanInts(a.ints)
	}
	return Mean(a.floats)
}

// weightedMean returns the mean as numpy.average does with weights.
func weightedMean(v, weights []float64) float64 {
	return Sum(table.Collect(len(v), func(i int) float64 { return float64(v[i] * weights[i]) })) / Sum(weights)
}

func (a numbers) asFloats() []float64 {
	if a.ints == nil {
		return a.floats
	}
	return lists.Of(a.ints, func(x int64) float64 { return float64(x) })
}

// quote shortens and quotes a cell for a message.
func quote(s string) string {
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return strconv.Quote(s)
}

// sumPart is the number of elements that numpy 1 sums at a time: the size of
// its iterator's buffer.
const sumPart = 8192

// Sum adds v as numpy.sum does on a contiguous float64 array: parts of 8192
// elements, each summed pairwise with eight running sums below 128 elements,
// added one after the other. It equals numpy 1.24 and 1.26 bit for bit (numpy
// 2 sums longer arrays pairwise as a whole). No elements give 0.
func Sum(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	total := math.Copysign(0, -1) // which changes no number
	for at := 0; at < len(v); at += sumPart {
		total += pairwise(v[at:min(at+sumPart, len(v))])
	}
	return total
}

func pairwise(v []float64) float64 {
	n := len(v)
	if n < 8 {
		total := math.Copysign(0, -1)
		for _, x := range v {
			total += x
		}
		return total
	}
	if n <= 128 {
		return eightSums(v)
	}
	half := n / 2
	half -= half % 8
	return pairwise(v[:half]) + pairwise(v[half:])
}

func eightSums(v []float64) float64 {
	r := [8]float64(v[:8])
	i := 8
	for ; i+8 <= len(v); i += 8 {
		w := v[i : i+8 : i+8]
		r[0] += w[0]
		r[1] += w[1]
		r[2] += w[2]
		r[3] += w[3]
		r[4] += w[4]
		r[5] += w[5]
		r[6] += w[6]
		r[7] += w[7]
	}
	total := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	for ; i < len(v); i++ {
		total += v[i]
	}
	return total
}

// Mean divides Sum by the number of elements, as numpy.mean does on float64.
// No elements give NaN.
func Mean(v []float64) float64 { return Sum(v) / float64(len(v)) }

// meanInts returns the mean as numpy.mean does on int64, which adds the
// values as float64.
func meanInts(v []int64) float64 {
	var sum summer
	for _, x := range v {
		sum.add(float64(x))
	}
	return sum.total() / float64(len(v))
}

// summer is Sum over values that come one after the other, so that they need not
// be held at once. It gives 0 for -0.
type summer struct {
	part []float64
	sum  float64
}

func (s *summer) add(v float64) {
	if s.part = append(s.part, v); len(s.part) == sumPart {
		s.total()
	}
}

// total returns the sum so far, of whole parts or of all values.
func (s *summer) total() float64 {
	s.sum += pairwise(s.part)
	s.part = s.part[:0]
	return s.sum
}

// Rounding says how a score is rounded to five decimals: as Python rounds the
// type that the source's metric returns.
type Rounding uint8

// The roundings.
const (
	NumpyRounding  Rounding = iota // numpy.float64: RoundNumpy
	PythonRounding                 // float: RoundPython
	WholeNumber                    // int: not rounded at all
)

// Round rounds v to five decimals.
func (r Rounding) Round(v float64) float64 {
	switch r {
	case PythonRounding:
		return RoundPython(v, 5)
	case WholeNumber:
		return v
	}
	return RoundNumpy(v, 5)
}

// RoundNumpy rounds as numpy.round does: v times a power of ten, to the
// nearest integer (halves to even), and divided again. The product can
// overflow to infinity. Decimals are 0 to 22.
func RoundNumpy(v float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.RoundToEven(float64(v*scale)) / scale
}

// RoundPython rounds as Python's round(float, decimals) does: to the decimal
// number nearest to v's exact value, halves to even, and back to the nearest
// double.
func RoundPython(v float64, decimals int) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	if err != nil { // rounded up beyond the largest double: Python raises OverflowError
		return v
	}
	return out
}
