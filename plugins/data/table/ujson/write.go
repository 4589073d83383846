package ujson

import (
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

var errSurrogate = errors.New("write JSON: a lone surrogate in a text")

// Append appends v as DataFrame.to_json writes a cell that holds it: without
// blanks, in ASCII, "/" escaped, floats with at most ten decimals, null for
// NaN and infinities.
func Append(b []byte, v pyjson.Value) ([]byte, error) {
	switch v.Kind() {
	case pyjson.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case pyjson.Int:
		if n, ok := v.Int(); ok {
			return strconv.AppendInt(b, n, 10), nil
		}
		n, ok := v.Uint()
		if !ok {
			return b, errors.New("write JSON: an integer of more than 64 bits")
		}
		return strconv.AppendUint(b, n, 10), nil
	case pyjson.Float:
		f, _ := v.Float()
		return appendFloat(b, f), nil
	case pyjson.String:
		return appendText(b, v.Text())
	case pyjson.Array, pyjson.Object:
		return appendList(b, v)
	}
	return append(b, "null"...), nil
}

func appendList(b []byte, v pyjson.Value) ([]byte, error) {
	open, closing := byte('['), byte(']')
	names := v.Names()
	if v.Kind() == pyjson.Object {
		open, closing = '{', '}'
	}
	b = append(b, open)
	var err error
	for i, x := range v.Items() {
		if i > 0 {
			b = append(b, ',')
		}
		if names != nil {
			if b, err = appendText(b, names[i]); err != nil {
				return b, err
			}
			b = append(b, ':')
		}
		if b, err = Append(b, x); err != nil {
			return b, err
		}
	}
	return append(b, closing), nil
}

// Beyond these sizes floats are written with an exponent.
const (
	largest  = 1e16 - 1
	smallest = 1e-15
)

// appendFloat appends a float: the integer part and the fraction times 1e10
// are taken apart in double arithmetic, halves rounded up if the last digit is
// odd or there is none, trailing zeros cut.
func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	abs := math.Abs(f)
	if abs > largest || abs != 0 && abs < smallest {
		return table.AppendFormat(b, f, 'g', 10)
	}
	const scale = 1e10
	whole := uint64(abs)
	scaled := float64((abs - float64(whole)) * scale)
	fraction := uint64(scaled)
	if rest := scaled - float64(fraction); rest > 0.5 || rest == 0.5 && (fraction == 0 || fraction&1 == 1) {
		fraction++
	}
	if fraction >= scale {
		fraction = 0
		whole++
	}
	if f < 0 {
		b = append(b, '-')
	}
	b = append(strconv.AppendUint(b, whole, 10), '.')
	if fraction == 0 {
		return append(b, '0')
	}
	digits := strconv.AppendUint(nil, fraction+scale, 10)[1:]
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return append(b, digits...)
}

// appendText appends a string in quotes. A lone surrogate is an error.
func appendText(b []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return b, errSurrogate
	}
	return pyjson.AppendText(b, text, true), nil
}
