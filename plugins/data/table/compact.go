package table

import (
	"math"
	"slices"
)

// Numbers that were read take fewer bytes where nothing is lost: integers from
// -128 to 127 one byte each, and decimals of a few digits four. Such a decimal
// is an integer over a power of ten. The quotient is the double nearest to the
// decimal, as both are exact, and so the very number that was read.

// noDecimal stands for a missing cell among decimals.
const noDecimal = math.MinInt32

// maxPower is the greatest number of decimals. Powers of ten up to 10^22 are
// exact doubles.
const maxPower = 15

func (v *vector) int(r int) int64 {
	if v.small != nil {
		return int64(v.small[r])
	}
	return v.ints[r]
}

func (v *vector) float(r int) float64 {
	if v.decimals == nil {
		return v.floats[r]
	}
	if m := v.decimals[r]; m != noDecimal {
		return float64(m) / v.power
	}
	return nan()
}

// spreadInts copies integers from place lo on.
func (v *vector) spreadInts(out []int64, lo int) {
	if v.small == nil {
		copy(out, v.ints[lo:])
		return
	}
	for i, x := range v.small[lo : lo+len(out)] {
		out[i] = int64(x)
	}
}

// spreadFloats copies doubles from place lo on.
func (v *vector) spreadFloats(out []float64, lo int) {
	if v.decimals == nil {
		copy(out, v.floats[lo:])
		return
	}
	for i, m := range v.decimals[lo : lo+len(out)] {
		if out[i] = float64(m) / v.power; m == noDecimal {
			out[i] = nan()
		}
	}
}

// intList collects integers.
type intList struct {
	small []int8
	wide  []int64 // in its place once there is an integer too large for it
	n     int     // how many there will be
}

func (l *intList) add(v int64) {
	if l.wide == nil {
		if v == int64(int8(v)) {
			l.small = append(l.small, int8(v))
			return
		}
		l.wide = make([]int64, len(l.small), max(l.n, len(l.small)+1))
		for i, x := range l.small {
			l.wide[i] = int64(x)
		}
		l.small = nil
	}
	l.wide = append(l.wide, v)
}

// addDigits adds the first of every width spans, as far as they are numbers of
// one digit, and returns how many.
func (l *intList) addDigits(spans []span, width int) (n int) {
	if l.wide != nil {
		l.wide = append(l.wide, int64(spans[0].off))
		return 1
	}
	out := l.small
	for i := 0; i < len(spans) && spans[i].isNumber(); i += width {
		out = append(out, int8(spans[i].off))
	}
	n, l.small = len(out)-len(l.small), out
	return n
}

func (l *intList) vector() *vector {
	if l.wide == nil {
		return &vector{kind: Int64, small: l.small, n: len(l.small)}
	}
	return intVector(l.wide)
}

// floatList collects doubles.
type floatList struct {
	decimals []int32
	places   int // decimal places of these
	wide     []float64
	n        int // how many there will be
}

func newFloatList(n int, wide bool) floatList {
	if wide {
		return floatList{wide: make([]float64, 0, n)}
	}
	return floatList{decimals: make([]int32, 0, n), n: n}
}

func (l *floatList) add(d double) {
	if l.wide == nil && l.addDecimal(d.f, d.mantissa, d.places) {
		return
	}
	if l.wide == nil {
		l.widen()
	}
	l.wide = append(l.wide, d.f)
}

// addNumbers adds the first of every width spans, as far as they are numbers
// like the first one, and returns how many.
func (l *floatList) addNumbers(spans []span, width int) (n int) {
	mark := spans[0].n
	if l.wide != nil || mark != numberMark|uint32(l.places) {
		l.add(spans[0].number())
		return 1
	}
	out := l.decimals
	for i := 0; i < len(spans) && spans[i].n == mark; i += width {
		out = append(out, int32(spans[i].off))
	}
	n, l.decimals = len(out)-len(l.decimals), out
	return n
}

// addDecimal adds f, which is m / 10^places if places is not negative.
func (l *floatList) addDecimal(f float64, m uint64, places int) bool {
	switch {
	case f != f:
		l.decimals = append(l.decimals, noDecimal)
		return true
	case places < 0 || m > math.MaxInt32 || m == 0 && math.Signbit(f):
		return false
	case places > l.places && !l.scale(places):
		return false
	}
	if by := l.places - places; by > 0 && m > 0 {
		if m *= tens[min(by, 9)]; by > 9 || m > math.MaxInt32 {
			return false
		}
	}
	d := int32(m)
	if f < 0 {
		d = -d
	}
	l.decimals = append(l.decimals, d)
	return true
}

// scale gives all decimals more places, if they can have them.
func (l *floatList) scale(places int) bool {
	if places > maxPower {
		return false
	}
	by := int64(tens[min(places-l.places, 9)])
	for _, d := range l.decimals {
		if x := int64(d) * by; d != noDecimal && d != 0 && (places-l.places > 9 || x > math.MaxInt32 || x < -math.MaxInt32) {
			return false
		}
	}
	for i, d := range l.decimals {
		if d != noDecimal {
			l.decimals[i] = int32(int64(d) * by)
		}
	}
	l.places = places
	return true
}

func (l *floatList) widen() {
	v := l.vector()
	l.wide = make([]float64, len(l.decimals), max(l.n, len(l.decimals)+1))
	for i := range l.wide {
		l.wide[i] = v.float(i)
	}
	l.decimals = nil
}

func (l *floatList) vector() *vector {
	if l.wide == nil {
		v := &vector{kind: Float64, decimals: l.decimals, power: pow10[l.places], n: len(l.decimals)}
		if len(l.decimals) > 0 {
			least, greatest := l.decimals[0], l.decimals[0]
			for _, d := range l.decimals {
				least, greatest = min(least, d), max(greatest, d)
			}
			v.lo, v.hi, v.bounded = float64(least)/v.power, float64(greatest)/v.power, least != noDecimal
		}
		return v
	}
	v := floatVector(l.wide)
	if len(l.wide) > 0 {
		v.lo, v.hi = slices.Min(l.wide), slices.Max(l.wide) // NaN if there is one
		v.bounded = v.lo >= -math.MaxFloat64 && v.hi <= math.MaxFloat64
	}
	return v
}
