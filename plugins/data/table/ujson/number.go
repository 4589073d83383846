package ujson

import (
	"errors"
	"math"
	"strconv"

	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// number is a number as ujson reads it: null for NaN, an integer of 64 bits
// with or without sign, or a double.
type number struct {
	kind cellKind // cellNull, cellInt, cellUint or cellFloat
	bits uint64
}

func (n number) value() pyjson.Value {
	switch n.kind {
	case cellInt:
		return pyjson.OfInt(int64(n.bits))
	case cellUint:
		return pyjson.OfUint(n.bits)
	case cellFloat:
		return pyjson.OfFloat(math.Float64frombits(n.bits))
	}
	return pyjson.Value{}
}

func ofFloat(f float64) number { return number{cellFloat, math.Float64bits(f)} }

// number reads a number. Digits may be missing everywhere: "-" is 0, "1." and
// "1e" are 1.0.
func (p *parser) number() (number, error) {
	sign, negative := 1.0, p.at(p.pos) == '-'
	if negative {
		sign = -1
		p.pos++
	}
	switch c := p.at(p.pos); {
	case c == 'I':
		return ofFloat(math.Inf(int(sign))), p.word("Infinity")
	case c == 'N' && !negative:
		return number{}, p.word("NaN")
	}
	whole, err := p.whole(negative)
	if err != nil {
		return number{}, err
	}
	switch p.at(p.pos) {
	case '.':
		p.pos++
		fraction, count := p.fraction()
		return ofFloat(p.exponent(float64(float64(whole)+float64(fraction*tenths[count])) * sign)), nil
	case 'e', 'E':
		return ofFloat(p.exponent(float64(whole) * sign)), nil
	}
	if !negative && whole>>63 != 0 {
		return number{cellUint, whole}, nil
	}
	if negative {
		whole = -whole
	}
	return number{cellInt, whole}, nil
}

// whole reads the integer part. It overflows unseen where the wrapped number
// is not smaller than the one before, or, negative, not beyond an int64.
func (p *parser) whole(negative bool) (uint64, error) {
	n := uint64(0)
	for ; p.at(p.pos)-'0' < 10; p.pos++ {
		next := n*10 + uint64(p.data[p.pos]-'0')
		if negative && next > 1<<63 || !negative && next < n {
			return 0, errors.New("a number of more than 64 bits")
		}
		n = next
	}
	return n, nil
}

// fraction reads decimals, of which 15 count.
func (p *parser) fraction() (f float64, count int) {
	for ; p.at(p.pos)-'0' < 10; p.pos++ {
		if count < len(tenths)-1 {
			f = float64(f*10) + float64(p.data[p.pos]-'0')
			count++
		}
	}
	return f, count
}

// exponent reads an exponent, if there is one, and scales f by it.
func (p *parser) exponent(f float64) float64 {
	if p.at(p.pos)|0x20 != 'e' {
		return f
	}
	p.pos++
	sign := 1
	if c := p.at(p.pos); c == '-' || c == '+' {
		if c == '-' {
			sign = -1
		}
		p.pos++
	}
	e := 0
	for ; p.at(p.pos)-'0' < 10; p.pos++ {
		e = min(e*10+int(p.data[p.pos]-'0'), 1<<20)
	}
	return f * power(sign*e)
}

// power returns ten to the power e as the pow of the C library (glibc 2.28 and
// later) does: the nearest double, but the next one for 23 and 210.
func power(e int) float64 {
	f, _ := strconv.ParseFloat("1e"+strconv.Itoa(e), 64)
	if e == 23 || e == 210 {
		return math.Nextafter(f, math.Inf(1))
	}
	return f
}

var tenths = [...]float64{1, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15}
