package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// outcome of reading a number from a cell.
type outcome uint8

const (
	okay     outcome = iota
	invalid          // not such a number
	overflow         // digits that do not fit
)

func isSpace(c byte) bool { return c == ' ' || c-'\t' < 5 }

func isDigit(c byte) bool { return c-'0' < 10 }

func trimLeft(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// digits reads the leading digits of b up to limit. It stops at the first
// digit that would go beyond limit.
func digits(b []byte, limit uint64) (v uint64, rest []byte, res outcome) {
	i := 0
	for ; i < len(b) && isDigit(b[i]); i++ {
		d := uint64(b[i] - '0')
		if v > (limit-d)/10 {
			return 0, nil, overflow
		}
		v = v*10 + d
	}
	if i == 0 {
		return 0, nil, invalid
	}
	return v, b[i:], okay
}

// parseInt reads an int64 as pandas does: blanks around it, a sign, digits.
// Too many digits are an overflow whatever follows them.
func parseInt(b []byte) (int64, outcome) {
	if n := len(b); n > 0 && n <= 18 {
		v := uint64(0)
		for i := 0; ; i++ {
			d := b[i] - '0'
			if d > 9 {
				break
			}
			v = v*10 + uint64(d)
			if i+1 == n {
				return int64(v), okay
			}
		}
	}
	b = trimLeft(b)
	limit, neg := uint64(math.MaxInt64), false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if neg = b[0] == '-'; neg {
			limit++
		}
		b = b[1:]
	}
	v, rest, res := digits(b, limit)
	if res != okay {
		return 0, res
	}
	if len(trimLeft(rest)) > 0 {
		return 0, invalid
	}
	if neg {
		v = -v
	}
	return int64(v), okay
}

// parseUint reads a uint64 as pandas does; a leading minus passes with
// negative set, whatever follows it.
func parseUint(b []byte) (v uint64, negative bool, res outcome) {
	b = trimLeft(b)
	if len(b) > 0 && b[0] == '-' {
		return 0, true, okay
	}
	if len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	v, rest, res := digits(b, math.MaxUint64)
	if res == okay && len(trimLeft(rest)) > 0 {
		res = invalid
	}
	return v, false, res
}

// double is a number that was read.
type double struct {
	f        float64
	mantissa uint64 // f is the double nearest to mantissa / 10^places, but for its sign
	places   int    // -1 if mantissa is not known
	whole    bool   // there are only digits
}

// double reads a number as the rules say.
func (r rules) double(b []byte) (d double, ok bool) {
	if !r.fast {
		if d, ok = parsePlain(b); ok {
			return d, true
		}
	}
	d.places = -1
	d.f, d.whole, ok = r.float(b)
	return d, ok
}

// parseRoundTrip reads the nearest double: blanks, a sign, digits with at most one
// point, an exponent, blanks. Digits that overflow upwards are refused and downwards
// give -inf, as pandas has it.
func parseRoundTrip(b []byte) (f float64, whole bool, ok bool) {
	if d, ok := parsePlain(b); ok {
		return d.f, d.whole, true
	}
	number := bytes.TrimRight(trimLeft(b), " \t\n\v\f\r")
	if len(number) == 0 { // strconv would allocate an error for each missing cell
		return 0, false, false
	}
	whole = true
	for _, c := range number {
		switch {
		case c == '.', c|0x20 == 'e':
			whole = false
		case !isDigit(c) && c != '+' && c != '-': // which strconv may know
			f, ok = infinity(b)
			return f, false, ok
		}
	}
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(number), len(number)), 64)
	return f, whole, (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsInf(f, 1)
}

// parsePlain reads a number of at most 19 digits, a sign and a point, which
// most numbers are.
func parsePlain(b []byte) (d double, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	mantissa, places, ok := plainDigits(b)
	if !ok {
		return d, false
	}
	d = double{mantissa: mantissa, places: max(places, 0), whole: places < 0}
	if mantissa < 1<<53 {
		d.f = float64(mantissa) / pow10[d.places] // both exact, there are at most 19
	} else if d.f, ok = scaleDown(mantissa, d.places); !ok {
		return d, false
	}
	if negative {
		d.f = -d.f
	}
	return d, true
}

// plainDigits reads at most 19 digits with a point among them or without one.
// It returns them as an integer and how many follow the point, -1 without one.
func plainDigits(b []byte) (m uint64, places int, ok bool) {
	k, digits := 0, len(b)
	for ; k < len(b) && isDigit(b[k]); k++ {
		m = m*10 + uint64(b[k]-'0')
	}
	if places = -1; k < len(b) {
		if b[k] != '.' {
			return 0, 0, false
		}
		places, digits = len(b)-k-1, digits-1
		for k++; k+8 <= len(b); k += 8 {
			v, ok := eightDigits(binary.LittleEndian.Uint64(b[k:]))
			if !ok {
				return 0, 0, false
			}
			m = m*1e8 + v
		}
		if left := len(b) - k; left > 0 && len(b) >= 8 { // the last eight bytes, of which the first count as zeros
			other := uint64(1)<<(64-8*left) - 1
			v, ok := eightDigits(binary.LittleEndian.Uint64(b[len(b)-8:])&^other | zeros&other)
			return m*tens[left] + v, places, ok && digits <= 19
		}
		for ; k < len(b); k++ {
			if !isDigit(b[k]) {
				return 0, 0, false
			}
			m = m*10 + uint64(b[k]-'0')
		}
	}
	return m, places, digits > 0 && digits <= 19
}

const zeros = '0' * lowBits

// eightDigits reads eight bytes if they are digits: all at once, then sums of
// two, of four and of eight.
func eightDigits(x uint64) (uint64, bool) {
	const high = 0xf0f0f0f0f0f0f0f0
	if x&high|(x+0x0606060606060606)&high>>4 != 0x3333333333333333 {
		return 0, false
	}
	return sumDigits(x & 0x0f0f0f0f0f0f0f0f), true
}

// sumDigits returns the number of eight digits, each the value of a byte.
func sumDigits(x uint64) uint64 {
	x = x * (1 + 10<<8) >> 8
	x = (x & 0x00ff00ff00ff00ff) * (1 + 100<<16) >> 16
	return (x & 0x0000ffff0000ffff) * (1 + 10000<<32) >> 32
}

var infinities = [...]string{"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"}

// infinity reads the spellings of infinity, in any case.
func infinity(b []byte) (float64, bool) {
	for _, s := range infinities {
		if equalFold(b, s) {
			if s[0] == '-' {
				return math.Inf(-1), true
			}
			return math.Inf(1), true
		}
	}
	return 0, false
}

// equalFold compares a text with one of ASCII letters, in any case. Of the same length,
// it can have no others that are equal to them.
func equalFold(b []byte, s string) bool { return len(b) == len(s) && strings.EqualFold(string(b), s) }

// parseBool reads true and false in any case.
func parseBool(b []byte) (v, ok bool) {
	v = equalFold(b, "true")
	return v, v || equalFold(b, "false")
}

// IsNA reports whether b is one of the strings pandas reads as missing.
func IsNA(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if len(b) > 9 {
		return false
	}
	switch b[0] {
	case '#', '-', '1', '<', 'N', 'n':
	default:
		return false
	}
	switch string(b) {
	case "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
		"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null":
		return true
	}
	return false
}

// ToNumeric returns a column of strings, or of strings and numbers, as the
// numbers that pandas.to_numeric reads in them; other columns it returns as
// they are. Texts are read by pandas' fast parser. Integers stay integers if
// all cells are, unless some are negative and others beyond int64: such a
// column stays as it is. A missing cell and the empty text are NaN. An error
// names the first cell that pandas refuses: no number, or an integer that
// neither int64 nor uint64 holds.
func (c *Column) ToNumeric() (*Column, error) {
	if c.kind != Text && c.kind != Mixed {
		return c, nil
	}
	r := numericReader{floats: make([]float64, c.n), ints: make([]uint64, c.n)}
	for i := range c.n {
		if what := r.add(i, c.Value(i)); what != "" {
			return nil, fmt.Errorf("row %d: %.40q %s", i+1, c.Text(i), what)
		}
	}
	switch {
	case r.fraction:
		return FromFloats(c.name, r.floats), nil
	case r.large && r.negative:
		return c, nil
	case r.large:
		return FromUints(c.name, r.ints), nil
	}
	return FromInts(c.name, lists.Of(r.ints, func(v uint64) int64 { return int64(v) })), nil
}

// numericReader collects the cells of a column as doubles and as 64 bits.
type numericReader struct {
	floats                    []float64
	ints                      []uint64
	fraction, large, negative bool // some cell is not an integer, is beyond int64, is negative
}

// add adds cell i and returns the mistake in it; "" if there is none.
func (r *numericReader) add(i int, v Value) string {
	r.floats[i] = v.Float()
	switch v.Kind() {
	case Int64, Uint64, Bool:
		r.whole(i, uint64(v.Int()), v.Kind() != Uint64 && v.Int() < 0)
		return ""
	case Text:
		return r.text(i, []byte(v.String()))
	}
	r.fraction = true // Missing cells are NaN already.
	return ""
}

func (r *numericReader) whole(i int, bits uint64, negative bool) {
	r.ints[i] = bits
	r.negative = r.negative || negative
	r.large = r.large || !negative && bits > math.MaxInt64
}

func (r *numericReader) text(i int, b []byte) string {
	if len(b) == 0 {
		r.floats[i], r.fraction = math.NaN(), true
		return ""
	}
	f, whole, ok := parseFast(b)
	switch {
	case !ok:
		return "is not a number"
	case !whole:
		r.floats[i], r.fraction = f, true
		return ""
	}
	r.floats[i] = f
	if n, res := parseInt(b); res == okay {
		r.whole(i, uint64(n), n < 0)
		return ""
	}
	u, negative, res := parseUint(b)
	if res != okay || negative {
		return "is an integer beyond 64 bits"
	}
	r.whole(i, u, false)
	return ""
}
