package archive

import (
	"bufio"
	"io"
)

// rangeDecoder is LZMA's arithmetic decoder. It reads without copying: buf is a
// part of src's buffer or, without src, all the data.
type rangeDecoder struct {
	src  *bufio.Reader
	buf  []byte
	i    int
	rng  uint32
	code uint32
	err  error
}

func (r *rangeDecoder) next() byte {
	if r.i == len(r.buf) && !r.fill() {
		return 0
	}
	b := r.buf[r.i]
	r.i++
	return b
}

// fill moves on to the next bytes, if there are any.
func (r *rangeDecoder) fill() bool {
	if r.src == nil {
		r.err = io.ErrUnexpectedEOF
	}
	if r.err != nil {
		return false
	}
	_, _ = r.src.Discard(len(r.buf)) // they are buffered
	r.buf, r.i = nil, 0
	if _, r.err = r.src.Peek(1); r.err != nil {
		return false
	}
	r.buf, r.err = r.src.Peek(r.src.Buffered())
	return true
}

func (r *rangeDecoder) start() error {
	if r.next() != 0 {
		return errLZMA
	}
	r.rng, r.code = 0xffffffff, 0
	for range 4 {
		r.code = r.code<<8 | uint32(r.next())
	}
	return r.err
}

func (r *rangeDecoder) bit(p *uint16) uint32 {
	bound := (r.rng >> 11) * uint32(*p)
	var b uint32
	if r.code < bound {
		r.rng = bound
		*p += (2048 - *p) >> 5
	} else {
		r.rng -= bound
		r.code -= bound
		*p -= *p >> 5
		b = 1
	}
	if r.rng < 1<<24 {
		r.rng <<= 8
		r.code = r.code<<8 | uint32(r.next())
	}
	return b
}

func (r *rangeDecoder) direct(n uint) uint32 {
	var v uint32
	for ; n > 0; n-- {
		r.rng >>= 1
		r.code -= r.rng
		t := 0 - r.code>>31
		r.code += r.rng & t
		v = v<<1 + t + 1
		if r.rng < 1<<24 {
			r.rng <<= 8
			r.code = r.code<<8 | uint32(r.next())
		}
	}
	return v
}

func (r *rangeDecoder) tree(probs []uint16, bits uint) uint32 {
	m := uint32(1)
	for range bits {
		m = m<<1 + r.bit(&probs[m])
	}
	return m - 1<<bits
}

func (r *rangeDecoder) reverse(probs []uint16, bits uint) uint32 {
	m, v := uint32(1), uint32(0)
	for i := range bits {
		b := r.bit(&probs[m])
		m = m<<1 + b
		v |= b << i
	}
	return v
}
