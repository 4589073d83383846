package table

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// floatFormat writes floats by a C format, or as FormatFloat where it is nil.
type floatFormat struct {
	prefix, suffix string
	verb           byte // 0: FormatFloat; else one of e f g E F G
	precision      int
}

// parseFloatFormat reads a format such as "%.10g": text, %, an optional
// precision and one of the verbs e, f and g.
func parseFloatFormat(s string) (floatFormat, error) {
	bad := fmt.Errorf("float format %q: want a form such as %%.6f or %%.10g", s)
	prefix, rest, ok := strings.Cut(s, "%")
	if s == "" {
		return floatFormat{}, nil
	}
	f := floatFormat{prefix: prefix, precision: 6}
	if !ok {
		return f, bad
	}
	if strings.HasPrefix(rest, ".") {
		i := 1
		for i < len(rest) && isDigit(rest[i]) {
			i++
		}
		f.precision, _ = strconv.Atoi("0" + rest[1:i])
		rest = rest[i:]
	}
	if rest == "" || !strings.Contains("efgEFG", rest[:1]) || f.precision > 1000 || strings.Contains(rest, "%") {
		return f, bad
	}
	f.verb, f.suffix = rest[0], rest[1:]
	return f, nil
}

func (f floatFormat) append(b []byte, v float64) []byte {
	b = append(b, f.prefix...)
	b = AppendFormat(b, v, f.verb, f.precision)
	return append(b, f.suffix...)
}

// AppendFormat appends v as C's printf does with the verb e, f or g, in either
// case, and the precision.
func AppendFormat(b []byte, v float64, verb byte, precision int) []byte {
	lower := verb | 0x20
	start := len(b)
	switch {
	case math.IsInf(v, 1):
		b = append(b, "inf"...)
	case math.IsInf(v, -1):
		b = append(b, "-inf"...)
	case math.IsNaN(v):
		b = append(b, "nan"...)
	case lower == 'g':
		b = appendG(b, v, max(precision, 1))
	default:
		b = strconv.AppendFloat(b, v, lower, precision, 64)
	}
	if verb != lower {
		copy(b[start:], bytes.ToUpper(b[start:]))
	}
	return b
}

// appendG appends v as %.*g: the form of %e if the exponent is below -4 or at
// least the precision, else that of %f; no trailing zeros.
func appendG(b []byte, v float64, precision int) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, v, 'e', precision-1, 64)
	e := bytes.LastIndexByte(b[start:], 'e') + start
	exp, _ := strconv.Atoi(string(b[e+1:]))
	tail := string(b[e:])
	b = b[:e]
	if -4 <= exp && exp < precision {
		b = strconv.AppendFloat(b[:start], v, 'f', precision-1-exp, 64)
		tail = ""
	}
	if bytes.IndexByte(b[start:], '.') >= 0 {
		b = bytes.TrimRight(b, "0")
		b = bytes.TrimSuffix(b, []byte{'.'})
	}
	return append(b, tail...)
}
