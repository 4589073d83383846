package pyjson

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// number reads an integer or a float.
func (p *parser) number() (Value, error) {
	for {
		start := p.pos
		if v, err := p.scanNumber(); !p.short(start) {
			return v, err
		}
	}
}

// scanNumber reads a number of which all is seen.
func (p *parser) scanNumber() (Value, error) {
	start := p.pos
	i := start
	if p.data[i] == '-' {
		i++
	}
	whole := i
	i = p.digits(i)
	if i == whole {
		p.pos = i
		return Value{}, errors.New("no digit after the minus")
	}
	if p.data[whole] == '0' {
		i = whole + 1
	}
	end := p.fraction(i)
	p.pos = end
	text := p.data[start:end]
	if end > i {
		f, _ := strconv.ParseFloat(string(text), 64)
		return OfFloat(f), nil
	}
	return p.integer(text)
}

// fraction returns the end of the fraction and exponent from i on, i if there
// is neither.
func (p *parser) fraction(i int) int {
	if i < len(p.data) && p.data[i] == '.' {
		if end := p.digits(i + 1); end > i+1 {
			i = end
		} else {
			return i
		}
	}
	if i < len(p.data) && p.data[i]|0x20 == 'e' {
		e := i + 1
		if e < len(p.data) && (p.data[e] == '-' || p.data[e] == '+') {
			e++
		}
		if end := p.digits(e); end > e {
			i = end
		}
	}
	return i
}

func (p *parser) digits(i int) int {
	for i < len(p.data) && '0' <= p.data[i] && p.data[i] <= '9' {
		i++
	}
	return i
}

func (p *parser) integer(text []byte) (Value, error) {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return OfInt(n), nil
	}
	if len(bytes.TrimPrefix(text, []byte{'-'})) > maxDigits {
		return Value{}, fmt.Errorf("an integer of more than %d digits", maxDigits)
	}
	return ofDigits(string(text)), nil
}
