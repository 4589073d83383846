package metric

import (
	"cmp"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// targetType is scikit-learn's notion of what a column of labels is.
type targetType uint8

const (
	binaryTarget     targetType = iota // at most two distinct values
	multiclassTarget                   // more than two
	continuousTarget                   // floats that are not whole
	unknownTarget                      // objects that are not texts
)

var targetNames = [...]string{"binary", "multiclass", "continuous", "unknown"}

func (t targetType) String() string { return targetNames[t] }

// typeOfTarget follows scikit-learn 1.5's type_of_target on a one-dimensional
// array: an object column must begin with a string and hold strings only;
// floats must be finite when one of them is not whole or beyond 64 bits.
func typeOfTarget(c *table.Column) (targetType, error) {
	if c.Len() == 0 {
		return binaryTarget, nil
	}
	switch c.Kind() {
	case table.Float64:
		if t, err := typeOfFloats(c); t == continuousTarget || err != nil {
			return t, err
		}
	case table.Bool:
		if c.MissingCount() > 0 {
			return unknownTarget, nil
		}
		return binaryTarget, nil
	case table.Text, table.Mixed:
		if c.Value(0).Kind() != table.Text {
			return unknownTarget, nil
		}
		if c.Kind() == table.Mixed || c.MissingCount() > 0 {
			return unknownTarget, &Unscorable{Column: c.Name(), Reason: "mixes strings with numbers or missing cells"}
		}
	}
	if moreThanTwo(c) {
		return multiclassTarget, nil
	}
	return binaryTarget, nil
}

func typeOfFloats(c *table.Column) (targetType, error) {
	whole, finite := true, true
	for _, x := range c.Floats() {
		whole = whole && x == math.Trunc(x) && x >= -0x1p63 && x < 0x1p63
		finite = finite && !math.IsInf(x, 0) && !math.IsNaN(x)
	}
	switch {
	case !finite:
		return continuousTarget, &Unscorable{Column: c.Name(), Reason: "contains a missing or infinite value"}
	case !whole:
		return continuousTarget, nil
	}
	return multiclassTarget, nil
}

func moreThanTwo(c *table.Column) bool {
	switch c.Kind() {
	case table.Int64:
		return threeDistinct(c.Len(), c.Int)
	case table.Float64:
		return threeDistinct(c.Len(), c.Float)
	case table.Text:
		return threeDistinct(c.Len(), c.Text)
	}
	return threeDistinct(c.Len(), c.Value)
}

func threeDistinct[T comparable](n int, cell func(int) T) bool {
	if n == 0 {
		return false
	}
	first := cell(0)
	second, two := first, false
	for i := range n {
		switch x := cell(i); {
		case x == first || two && x == second:
		case two:
			return true
		default:
			second, two = x, true
		}
	}
	return false
}

// checkTargets follows scikit-learn 1.5's _check_targets: continuous and
// unknown columns are refused, binary and multiclass ones go together, and two
// binary ones must be of one kind, strings or numbers.
func checkTargets(truth, pred *table.Column) error {
	t, err := typeOfTarget(truth)
	if err != nil {
		return err
	}
	p, err := typeOfTarget(pred)
	if err != nil {
		return err
	}
	for _, x := range []targetType{t, p} {
		if x == continuousTarget || x == unknownTarget {
			return &Unscorable{Column: pred.Name(), Reason: "labels cannot be compared: the answers are " + t.String() + ", the submission is " + p.String()}
		}
	}
	if t == binaryTarget && p == binaryTarget && isText(truth) != isText(pred) && truth.Len() > 0 {
		return mixedLabels(pred)
	}
	return nil
}

// ofLabels returns the scorer of a function of the only target, whose columns
// checkTargets has passed.
func ofLabels(score func(pair) (Score, error)) Scorer {
	return func(in Input) (Score, error) {
		p, err := in.single()
		if err == nil {
			err = checkTargets(p.truth, p.pred)
		}
		if err != nil {
			return Score{}, err
		}
		return score(p)
	}
}

func isText(c *table.Column) bool { return c.Kind() == table.Text }

func mixedLabels(c *table.Column) error {
	return &Unscorable{Column: c.Name(), Reason: "strings and numbers cannot be compared as labels"}
}

// encode numbers the column's distinct values in ascending order from 0 and
// returns every row's number and their count.
func encode(c *table.Column) (codes []int32, count int, err error) {
	all, err := encodeTogether(c)
	if err != nil {
		return nil, 0, err
	}
	return all.codes[0], all.count, nil
}

// encoding numbers the distinct values of several columns.
type encoding struct {
	codes [][]int32 // one list a column
	count int
}

// exact is a number as the sum of a multiple of 2³² and of what is left, so
// that integers of 64 bits and doubles compare by their very values.
type exact struct{ high, low float64 }

func exactOf(v table.Value) exact {
	n := v.Int()
	switch v.Kind() {
	case table.Float64:
		high := float64(math.Floor(v.Float()/0x1p32) * 0x1p32)
		return exact{high, v.Float() - high}
	case table.Uint64:
		return exact{float64(float64(uint64(n)>>32) * 0x1p32), float64(uint32(n))}
	}
	return exact{float64(float64(n>>32) * 0x1p32), float64(uint32(n))}
}

// nearest returns the double that is nearest to the number, and whether it is
// the number.
func (e exact) nearest() (double float64, same bool) {
	sum := e.high + e.low
	return sum, sum-e.high == e.low
}

func compareExact(a, b exact) int {
	return cmp.Or(cmp.Compare(a.high, b.high), cmp.Compare(a.low, b.low))
}

func exactValues(c *table.Column) []exact { return lists.Of(c.Values(), exactOf) }

// asDoubles reports whether numpy's array of the numbers of all columns holds
// doubles.
func asDoubles(columns ...*table.Column) bool {
	has := map[table.Kind]bool{}
	for _, c := range columns {
		has[c.Kind()] = true
	}
	return has[table.Float64] || has[table.Int64] && has[table.Uint64]
}

// encodeLabels is encodeTogether for labels that checkTargets has passed, but
// numbers of two kinds whose array would hold doubles are as many labels as
// there are exact values. These are returned in order, and only then.
func encodeLabels(truth, pred *table.Column) (encoding, []exact, error) {
	if isText(truth) || isText(pred) || truth.Kind() == pred.Kind() || !asDoubles(truth, pred) {
		labels, err := encodeTogether(truth, pred)
		return labels, nil, err
	}
	labels, values := encodeValues([]*table.Column{truth, pred}, exactValues, compareExact)
	return labels, values, nil
}

// encodeTogether numbers the distinct values of all columns in ascending order:
// numbers and booleans by value (as doubles where asDoubles), strings by code
// points. Columns of both sorts and missing cells are refused.
func encodeTogether(columns ...*table.Column) (encoding, error) {
	ints, numbers, texts := true, true, true
	for _, c := range columns {
		if c.MissingCount() > 0 || c.Kind() == table.Mixed {
			return encoding{}, &Unscorable{Column: c.Name(), Reason: "contains missing labels or labels of different types"}
		}
		ints = ints && (c.Kind() == table.Int64 || c.Kind() == table.Bool)
		numbers = numbers && !isText(c)
		texts = texts && isText(c)
	}
	switch {
	case ints:
		return encodeInts(columns), nil
	case numbers && asDoubles(columns...):
		out, _ := encodeValues(columns, (*table.Column).Floats, cmp.Compare)
		return out, nil
	case numbers:
		out, _ := encodeValues(columns, exactValues, compareExact)
		return out, nil
	case texts:
		out, _ := encodeValues(columns, (*table.Column).Texts, cmp.Compare)
		return out, nil
	}
	return encoding{}, mixedLabels(columns[len(columns)-1])
}

// encodeInts numbers integers; those of a narrow range without a map.
func encodeInts(columns []*table.Column) encoding {
	lists := make([][]int64, len(columns))
	lo, hi, rows := int64(math.MaxInt64), int64(math.MinInt64), 0
	for i, c := range columns {
		if lists[i] = c.Ints(); len(lists[i]) > 0 {
			lo, hi = min(lo, slices.Min(lists[i])), max(hi, slices.Max(lists[i]))
		}
		rows += len(lists[i])
	}
	if rows == 0 || uint64(hi)-uint64(lo) > uint64(rows)+1024 {
		out, _ := encodeValues(columns, (*table.Column).Ints, cmp.Compare)
		return out
	}
	number := make([]int32, hi-lo+1)
	for _, list := range lists {
		for _, v := range list {
			number[v-lo] = 1
		}
	}
	out := encoding{}
	for i, seen := range number {
		number[i] = int32(out.count)
		out.count += int(seen)
	}
	for _, list := range lists {
		codes := make([]int32, len(list))
		for i, v := range list {
			codes[i] = number[v-lo]
		}
		out.codes = append(out.codes, codes)
	}
	return out
}

// encodeValues returns the distinct values in order, too.
func encodeValues[T comparable](columns []*table.Column, values func(*table.Column) []T, compare func(a, b T) int) (encoding, []T) {
	cells := make([][]T, len(columns))
	number := map[T]int32{}
	var distinct []T
	for i, c := range columns {
		cells[i] = values(c)
		for _, v := range cells[i] {
			if _, ok := number[v]; !ok {
				number[v] = 0
				distinct = append(distinct, v)
			}
		}
	}
	slices.SortFunc(distinct, compare)
	for i, v := range distinct {
		number[v] = int32(i)
	}
	codes := lists.Of(cells, func(list []T) []int32 { return lists.Of(list, func(v T) int32 { return number[v] }) })
	return encoding{codes, len(distinct)}, distinct
}
