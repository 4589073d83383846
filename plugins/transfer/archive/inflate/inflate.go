// Package inflate decodes DEFLATE (RFC 1951) faster than the general decoders of
// Go, because it does less at a time that others do one by one:
//
//   - It decodes from memory to memory. Bits come in eight bytes at a time, and
//     matches are copied eight bytes at a time, a little beyond their end. Both need
//     no check per byte as long as the input and the output have bytes to spare.
//   - One look into the table of literals and lengths gives up to three literals,
//     as many as its bits hold. Numbers and text, of which tables are made, have
//     literals of four to six bits.
//
// It accepts what compress/flate accepts: complete codes, and codes of a single
// symbol of one bit.
package inflate

import (
	"encoding/binary"
	"errors"
	"io"
)

// ErrCorrupt is returned for input that is not DEFLATE.
var ErrCorrupt = errors.New("corrupt DEFLATE data")

// Slack is how many bytes an output must have beyond what it is for. A step of the
// fast loop that begins with the last byte gives up to nine literals and the longest
// match, whose copy goes up to eight bytes beyond its end; with Decode, it may begin
// behind the last byte.
const Slack = 9 + maxMatch + 8

const (
	maxMatch   = 258
	windowSize = 32 << 10
	// fastInput is how many bytes of input a step of the fast loop may look at.
	fastInput = 16
)

// state names the next part of the input.
type state uint8

const (
	header state = iota
	stored
	coded
	ended
)

// decoder is in the middle of a stream.
type decoder struct {
	// in[r:] is input that is not in bits, whose lowest count bits are next. more
	// reads further input, and keeps the eight bytes before r; it is nil once there is
	// none.
	in    []byte
	r     int
	bits  uint64
	count uint
	more  func(*decoder) error
	short error // what a lack of input means

	// out[:w] is the output and the window before it.
	out []byte
	w   int

	state state
	final bool
	left  int // bytes of the stored block
	codes *codes
	own   codes
}

func (d *decoder) reset(in []byte, more func(*decoder) error, out []byte) {
	d.in, d.r, d.bits, d.count, d.more, d.short = in, 0, 0, 0, more, io.ErrUnexpectedEOF
	d.out, d.w, d.state, d.final = out, 0, header, false
}

// run decodes until the output reaches limit, behind which there is Slack, or ends
// with io.EOF.
func (d *decoder) run(limit int) (err error) {
	for d.w < limit && err == nil {
		switch d.state {
		case header:
			err = d.header()
		case stored:
			err = d.copyStored(limit)
		case coded:
			if err = d.fast(limit); err == nil && d.state == coded && d.w < limit {
				err = d.careful()
			}
		case ended:
			return io.EOF
		}
	}
	return err
}

// need makes n bits available, at most 48.
func (d *decoder) need(n uint) error {
	for d.count < n {
		if d.r == len(d.in) {
			if err := d.read(); err != nil {
				return err
			}
		}
		d.bits |= uint64(d.in[d.r]) << d.count
		d.r++
		d.count += 8
	}
	return nil
}

// read reads further input, or returns io.ErrUnexpectedEOF if there is none.
func (d *decoder) read() error {
	if d.more != nil {
		err := d.more(d)
		if err == nil {
			return nil
		}
		d.more = nil
		if err != io.EOF {
			d.short = err
		}
	}
	return d.short
}

func (d *decoder) skip(n uint) {
	d.bits >>= n
	d.count -= n
}

// take returns the next n bits, which must be available.
func (d *decoder) take(n uint) uint {
	v := uint(d.bits) & (1<<n - 1)
	d.skip(n)
	return v
}

// header reads the head of a block.
func (d *decoder) header() error {
	if d.final {
		d.state = ended
		return nil
	}
	if err := d.need(3); err != nil {
		return err
	}
	d.final = d.take(1) == 1
	switch d.take(2) {
	case 0:
		return d.storedHeader()
	case 1:
		d.codes = fixed()
	case 2:
		d.codes = &d.own
		if err := d.readCodes(); err != nil {
			return err
		}
	default:
		return ErrCorrupt
	}
	d.state = coded
	return nil
}

// storedHeader reads the length of a stored block, which begins with a byte.
func (d *decoder) storedHeader() error {
	d.skip(d.count & 7)
	if err := d.need(32); err != nil {
		return err
	}
	n, inverse := d.take(16), d.take(16)
	if n != ^inverse&0xffff {
		return ErrCorrupt
	}
	d.r -= int(d.count / 8) // whole bytes that were taken too early
	d.bits, d.count = 0, 0
	d.left, d.state = int(n), stored
	return nil
}

func (d *decoder) copyStored(limit int) error {
	if d.left == 0 {
		d.state = header
		return nil
	}
	if d.r == len(d.in) {
		return d.read()
	}
	n := copy(d.out[d.w:d.w+min(d.left, limit-d.w)], d.in[d.r:])
	d.w, d.r, d.left = d.w+n, d.r+n, d.left-n
	return nil
}

// fast decodes symbols while there are fastInput bytes of input and the output is
// below limit.
func (d *decoder) fast(limit int) error {
	var (
		in, out = d.in, d.out
		r, w    = d.r, d.w
		bits, n = d.bits, d.count
		lit     = &d.codes.lit
		dist    = &d.codes.dist
	)
	keep := func() { d.r, d.w, d.bits, d.count = r, w, bits, n }
	for r <= len(in)-fastInput && w < limit {
		bits |= binary.LittleEndian.Uint64(in[r:r+8]) << (n & 63)
		r += int(63-n) >> 3
		n |= 56
		e := lit[bits&litMask]
		if e&literals != 0 {
			binary.LittleEndian.PutUint32(out[w:w+4], uint32(e>>8))
			w += int(e >> 4 & 3)
			bits >>= e & 15
			n -= uint(e & 15)
			if e = lit[bits&litMask]; e&literals != 0 {
				binary.LittleEndian.PutUint32(out[w:w+4], uint32(e>>8))
				w += int(e >> 4 & 3)
				bits >>= e & 15
				n -= uint(e & 15)
				if e = lit[bits&litMask]; e&literals != 0 {
					binary.LittleEndian.PutUint32(out[w:w+4], uint32(e>>8))
					w += int(e >> 4 & 3)
					bits >>= e & 15
					n -= uint(e & 15)
					if e = lit[bits&litMask]; e&literals != 0 {
						binary.LittleEndian.PutUint32(out[w:w+4], uint32(e>>8))
						w += int(e >> 4 & 3)
						bits >>= e & 15
						n -= uint(e & 15)
						continue
					}
				}
			}
			bits |= binary.LittleEndian.Uint64(in[r:r+8]) << (n & 63)
			r += int(63-n) >> 3
			n |= 56
		}
		// At most 15+5 bits of a length and 15+13 of a distance follow.
		bits >>= e & 15
		n -= uint(e & 15)
		if e&kind == subtable {
			e = lit[uint(e>>8&0xfff)+uint(bits)&(1<<(e>>20&15)-1)]
			bits >>= e & 15
			n -= uint(e & 15)
			if e&literals != 0 {
				out[w] = byte(e >> 8)
				w++
				continue
			}
		}
		if e&kind != length {
			keep()
			if e&kind == endOfBlock {
				d.state = header
				return nil
			}
			return ErrCorrupt
		}
		extra := e >> 20 & 15
		size := int(e>>8&0xfff) + int(bits&(1<<extra-1))
		bits >>= extra & 63
		n -= uint(extra)
		o := dist[bits&distMask]
		bits >>= o & 15
		n -= uint(o & 15)
		if o&kind == subtable {
			o = dist[uint(o>>8&0xfff)+uint(bits)&(1<<(o>>24&15)-1)]
			bits >>= o & 15
			n -= uint(o & 15)
		}
		if o&kind != length {
			keep()
			return ErrCorrupt
		}
		extra = o >> 24 & 15
		back := int(o>>8&0xffff) + int(bits&(1<<extra-1))
		bits >>= extra & 63
		n -= uint(extra)
		if back > w {
			keep()
			return ErrCorrupt
		}
		if to, of := out[w:w+16], out[w-back:]; back >= 8 && size <= 16 { // most matches, without a call
			binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(of))
			binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(of[8:]))
		} else {
			match(out, w, back, size)
		}
		w += size
	}
	keep()
	return nil
}

// match copies size bytes from back bytes before w, and up to seven more.
func match(out []byte, w, back, size int) {
	from, to := out[w-back:], out[w:w+size+8]
	switch {
	case back >= size && size > 64:
		copy(to[:size], from)
	case back >= 8:
		for i := 0; i < size; i += 8 {
			binary.LittleEndian.PutUint64(to[i:i+8], binary.LittleEndian.Uint64(from[i:i+8]))
		}
	case back == 1:
		pattern := uint64(from[0]) * 0x0101010101010101
		for i := 0; i < size; i += 8 {
			binary.LittleEndian.PutUint64(to[i:i+8], pattern)
		}
	default: // by bytes, until what repeats is as long as a word
		period, i := (7+back)/back*back, 0
		for ; i < min(size, period); i++ {
			to[i] = from[i]
		}
		for ; i < size; i += 8 {
			binary.LittleEndian.PutUint64(to[i:i+8], binary.LittleEndian.Uint64(to[i-period:i-period+8]))
		}
	}
}

// careful decodes a symbol near the end of the input, or of what was read of it.
func (d *decoder) careful() error {
	_ = d.need(48) // as far as there are so many
	e := uint64(d.codes.lit[d.bits&litMask])
	if err := d.consume(e & 15); err != nil {
		return err
	}
	if e&kind == subtable {
		e = uint64(d.codes.lit[uint64(e>>8&0xfff)+d.bits&(1<<(e>>20&15)-1)])
		if err := d.consume(e & 15); err != nil {
			return err
		}
	}
	if n := int(e >> 4 & 3); n > 0 {
		binary.LittleEndian.PutUint32(d.out[d.w:d.w+4], uint32(e>>8))
		d.w += n
		return nil
	}
	switch e & kind {
	case endOfBlock:
		d.state = header
		return nil
	case length:
	default:
		return ErrCorrupt
	}
	size, err := d.number(int(e>>8&0xfff), e>>20&15)
	if err != nil {
		return err
	}
	o := uint64(d.codes.dist[d.bits&distMask])
	if err := d.consume(o & 15); err != nil {
		return err
	}
	if o&kind == subtable {
		o = uint64(d.codes.dist[uint64(o>>8&0xfff)+d.bits&(1<<(o>>24&15)-1)])
		if err := d.consume(o & 15); err != nil {
			return err
		}
	}
	if o&kind != length {
		return ErrCorrupt
	}
	back, err := d.number(int(o>>8&0xffff), o>>24&15)
	if err != nil {
		return err
	}
	if back > d.w {
		return ErrCorrupt
	}
	match(d.out, d.w, back, size)
	d.w += size
	return nil
}

// consume skips the bits of a symbol, if the input had so many.
func (d *decoder) consume(n uint64) error {
	if uint(n) > d.count {
		return d.short
	}
	d.skip(uint(n))
	return nil
}

// number adds the next bits to a base.
func (d *decoder) number(base int, extra uint64) (int, error) {
	v := int(d.bits & (1<<extra - 1))
	return base + v, d.consume(extra)
}
