package archive

import (
	"errors"
	"fmt"
)

// maxDictionary limits the memory of one LZMA stream. The largest preset of the
// newest 7-Zip versions needs 1.5 GiB; data sets use 64 MiB at most.
const maxDictionary = 1536 << 20

var errLZMA = errors.New("invalid LZMA data")

// window is the dictionary of an LZMA stream: the last bytes written, which
// matches copy from, and which the reader takes.
//
// The buffer grows with the stream up to its size, so that a small file cannot
// ask for much memory, and is used in a circle from then on.
type window struct {
	buf   []byte
	size  int
	pos   int
	read  int
	total int64
}

// newWindow returns a dictionary no larger than the stream.
func newWindow(dict uint32, size int64) (*window, error) {
	n := max(int64(dict), 4096)
	if size >= 0 {
		n = min(n, max(size, 1))
	}
	if n > maxDictionary {
		return nil, fmt.Errorf("%w: LZMA dictionary of %d bytes", ErrUnsafe, n)
	}
	return &window{buf: make([]byte, min(n, 1<<18)), size: int(n)}, nil
}

// space returns how many bytes may be written before the reader must take some.
func (w *window) space() int {
	if w.pos < w.read {
		return w.read - w.pos
	}
	if w.pos == len(w.buf) && len(w.buf) < w.size {
		grown := make([]byte, min(2*len(w.buf), w.size))
		copy(grown, w.buf)
		w.buf = grown
	}
	return len(w.buf) - w.pos
}

func (w *window) put(b byte) {
	w.buf[w.pos] = b
	w.pos++
	w.total++
}

// at returns the byte at distance+1 back.
func (w *window) at(distance uint32) byte {
	i := w.pos - int(distance) - 1
	if i < 0 {
		i += len(w.buf)
	}
	return w.buf[i]
}

func (w *window) has(distance uint32) bool {
	return int64(distance) < w.total && int64(distance) < int64(w.size)
}

// copy repeats n bytes from distance+1 back; n must not exceed space.
func (w *window) copy(distance uint32, n int) {
	from := w.pos - int(distance) - 1
	if from < 0 {
		from += len(w.buf)
	}
	w.total += int64(n)
	for ; n > 0; n-- {
		w.buf[w.pos] = w.buf[from]
		w.pos++
		if from++; from == len(w.buf) {
			from = 0
		}
	}
}

// take moves written bytes to p. When all are taken and the buffer is full, it
// starts again at the beginning of the buffer.
func (w *window) take(p []byte) int {
	n := copy(p, w.buf[w.read:w.pos])
	w.read += n
	if w.read == w.size {
		w.read, w.pos = 0, 0
	}
	return n
}

// lengthCoder decodes match lengths.
type lengthCoder struct {
	choice [2]uint16
	low    [16][8]uint16
	mid    [16][8]uint16
	high   [256]uint16
}

func (l *lengthCoder) decode(r *rangeDecoder, posState uint32) uint32 {
	if r.bit(&l.choice[0]) == 0 {
		return r.tree(l.low[posState][:], 3)
	}
	if r.bit(&l.choice[1]) == 0 {
		return 8 + r.tree(l.mid[posState][:], 3)
	}
	return 16 + r.tree(l.high[:], 8)
}

// lzmaProbs are the adaptive probabilities of a stream.
type lzmaProbs struct {
	isMatch    [12][16]uint16
	isRep      [12]uint16
	isRepG0    [12]uint16
	isRepG1    [12]uint16
	isRepG2    [12]uint16
	isRep0Long [12][16]uint16
	slot       [4][64]uint16
	special    [115]uint16
	align      [16]uint16
	length     lengthCoder
	repLength  lengthCoder
}

// lzmaState decodes packets into a window.
type lzmaState struct {
	rc         rangeDecoder
	w          *window
	p          lzmaProbs
	literal    []uint16
	lc, lp, pb uint
	state      uint32
	rep        [4]uint32
	// pending is the rest of a match that did not fit in the window.
	pending int
	ended   bool
}

// setProps parses the properties byte: lc, lp and pb.
func (s *lzmaState) setProps(b byte) error {
	if b >= 9*5*5 {
		return errLZMA
	}
	s.lc, s.lp, s.pb = uint(b%9), uint(b/9%5), uint(b/45)
	if n := 0x300 << (s.lc + s.lp); n != len(s.literal) {
		s.literal = make([]uint16, n)
	}
	s.reset()
	return nil
}

func (s *lzmaState) reset() {
	s.state, s.rep, s.pending, s.ended = 0, [4]uint32{}, 0, false
	fillProbs(s.literal)
	p := &s.p
	for i := range 12 {
		fillProbs(p.isMatch[i][:])
		fillProbs(p.isRep0Long[i][:])
	}
	for _, flat := range [][]uint16{p.isRep[:], p.isRepG0[:], p.isRepG1[:], p.isRepG2[:], p.special[:], p.align[:]} {
		fillProbs(flat)
	}
	for i := range p.slot {
		fillProbs(p.slot[i][:])
	}
	for _, l := range []*lengthCoder{&p.length, &p.repLength} {
		fillProbs(l.choice[:])
		fillProbs(l.high[:])
		for i := range 16 {
			fillProbs(l.low[i][:])
			fillProbs(l.mid[i][:])
		}
	}
}

func fillProbs(p []uint16) {
	for i := range p {
		p[i] = 1024
	}
}

// decode writes up to n bytes to the window, and stops when it is full.
func (s *lzmaState) decode(n int64) error {
	end := s.w.total + n
	for s.w.total < end && !s.ended {
		space := min(int64(s.w.space()), end-s.w.total)
		if space == 0 {
			return nil
		}
		if s.pending > 0 {
			k := min(s.pending, int(space))
			s.w.copy(s.rep[0], k)
			s.pending -= k
			continue
		}
		if err := s.packet(); err != nil {
			return err
		}
		if s.rc.err != nil {
			return fmt.Errorf("%w: %w", errLZMA, s.rc.err)
		}
	}
	return nil
}

// packet decodes a literal, or the head of a match.
func (s *lzmaState) packet() error {
	posState := uint32(s.w.total) & (1<<s.pb - 1)
	if s.rc.bit(&s.p.isMatch[s.state][posState]) == 0 {
		s.literalByte()
		return nil
	}
	if s.rc.bit(&s.p.isRep[s.state]) != 0 {
		return s.repeat(posState)
	}
	s.rep[3], s.rep[2], s.rep[1] = s.rep[2], s.rep[1], s.rep[0]
	length := s.p.length.decode(&s.rc, posState)
	s.state = after(s.state, 7, 10)
	s.rep[0] = s.distance(length)
	if s.rep[0] == 0xffffffff {
		s.ended = true
		return nil
	}
	return s.match(length)
}

// after returns the next state: low after a literal, high after a match.
func after(state, low, high uint32) uint32 {
	if state < 7 {
		return low
	}
	return high
}

func (s *lzmaState) match(length uint32) error {
	if !s.w.has(s.rep[0]) {
		return errLZMA
	}
	s.pending = int(length) + 2
	return nil
}

func (s *lzmaState) literalByte() {
	prev := uint32(0)
	if s.w.total > 0 {
		prev = uint32(s.w.at(0))
	}
	context := (uint32(s.w.total)&(1<<s.lp-1))<<s.lc + prev>>(8-s.lc)
	probs := s.literal[0x300*context:][:0x300]
	m := uint32(1)
	if s.state >= 7 {
		match := uint32(s.w.at(s.rep[0]))
		for m < 0x100 {
			bit := match >> 7 & 1
			match <<= 1
			b := s.rc.bit(&probs[(1+bit)<<8+m])
			m = m<<1 | b
			if b != bit {
				break
			}
		}
	}
	for m < 0x100 {
		m = m<<1 | s.rc.bit(&probs[m])
	}
	s.w.put(byte(m))
	switch {
	case s.state < 4:
		s.state = 0
	case s.state < 10:
		s.state -= 3
	default:
		s.state -= 6
	}
}

// repeat decodes a match at one of the last four distances.
func (s *lzmaState) repeat(posState uint32) error {
	if s.w.total == 0 {
		return errLZMA
	}
	if s.rc.bit(&s.p.isRepG0[s.state]) == 0 {
		if s.rc.bit(&s.p.isRep0Long[s.state][posState]) == 0 {
			s.state = after(s.state, 9, 11)
			if !s.w.has(s.rep[0]) {
				return errLZMA
			}
			s.w.put(s.w.at(s.rep[0]))
			return nil
		}
	} else {
		s.rotate()
	}
	length := s.p.repLength.decode(&s.rc, posState)
	s.state = after(s.state, 8, 11)
	return s.match(length)
}

func (s *lzmaState) rotate() {
	r := &s.rep
	switch {
	case s.rc.bit(&s.p.isRepG1[s.state]) == 0:
		r[0], r[1] = r[1], r[0]
	case s.rc.bit(&s.p.isRepG2[s.state]) == 0:
		r[0], r[1], r[2] = r[2], r[0], r[1]
	default:
		r[0], r[1], r[2], r[3] = r[3], r[0], r[1], r[2]
	}
}

func (s *lzmaState) distance(length uint32) uint32 {
	slot := s.rc.tree(s.p.slot[min(length, 3)][:], 6)
	if slot < 4 {
		return slot
	}
	bits := uint(slot>>1 - 1)
	base := (2 | slot&1) << bits
	if slot < 14 {
		return base + s.rc.reverse(s.p.special[base-slot:], bits)
	}
	return base + s.rc.direct(bits-4)<<4 + s.rc.reverse(s.p.align[:], 4)
}
