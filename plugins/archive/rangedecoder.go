package archive

import "io"

// rangeDecoder is LZMA's arithmetic decoder.
type rangeDecoder struct {
	src  io.Reader
	buf  []byte
	i, n int
	rng  uint32
	code uint32
	err  error
}

func (r *rangeDecoder) next() byte {
	if r.i == r.n {
		if r.err != nil {
			return 0
		}
		r.i = 0
		if r.n, r.err = io.ReadAtLeast(r.src, r.buf, 1); r.n == 0 {
			return 0
		}
		r.err = nil
	}
	b := r.buf[r.i]
	r.i++
	return b
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
