package archive

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// lzmaReader reads a raw LZMA stream of known length.
type lzmaReader struct {
	s    lzmaState
	left int64
	err  error
}

// newLZMAReader takes the five bytes of properties: lc/lp/pb and the dictionary
// size.
func newLZMAReader(src io.Reader, props []byte, size int64) (io.Reader, error) {
	if len(props) != 5 {
		return nil, errLZMA
	}
	w, err := newWindow(binary.LittleEndian.Uint32(props[1:]), size)
	if err != nil {
		return nil, err
	}
	r := &lzmaReader{s: lzmaState{w: w, rc: rangeDecoder{src: bufio.NewReaderSize(src, 1<<12)}}, left: size}
	if err := r.s.setProps(props[0]); err != nil {
		return nil, err
	}
	return r, r.s.rc.start()
}

// Read implements io.Reader.
func (r *lzmaReader) Read(p []byte) (int, error) {
	for {
		if n := r.s.w.take(p); n > 0 || len(p) == 0 {
			return n, nil
		}
		switch {
		case r.err != nil:
			return 0, r.err
		case r.left == 0:
			return 0, io.EOF
		case r.s.ended:
			return 0, io.ErrUnexpectedEOF
		}
		before := r.s.w.total
		r.err = r.s.decode(r.left)
		r.left -= r.s.w.total - before
	}
}

// lzma2Reader reads a raw LZMA2 stream: chunks that are plain or LZMA.
type lzma2Reader struct {
	src *bufio.Reader
	s   lzmaState
	// packed is the length of the current chunk, which stays in src's buffer until
	// the next one begins.
	packed int
	// left is how many bytes the current chunk still yields; plain says that it is
	// not compressed.
	left  int64
	plain bool
	// ready says which resets are still due: dictionary, then properties.
	hasDict, hasProps bool
	done              bool
	err               error
}

// maxChunk is the largest size of a packed chunk.
const maxChunk = 1 << 16

// newLZMA2Reader takes the properties byte, which contains the dictionary size.
func newLZMA2Reader(src io.Reader, props []byte, size int64) (io.Reader, error) {
	if len(props) != 1 || props[0] > 40 {
		return nil, errLZMA
	}
	dict := uint32(0xffffffff)
	if props[0] < 40 {
		dict = (2 | uint32(props[0])&1) << (props[0]/2 + 11)
	}
	w, err := newWindow(dict, size)
	if err != nil {
		return nil, err
	}
	return &lzma2Reader{src: bufio.NewReaderSize(src, maxChunk), s: lzmaState{w: w}}, nil
}

// Read implements io.Reader.
func (r *lzma2Reader) Read(p []byte) (int, error) {
	for {
		if n := r.s.w.take(p); n > 0 || len(p) == 0 {
			return n, nil
		}
		switch {
		case r.err != nil:
			return 0, r.err
		case r.done:
			return 0, io.EOF
		}
		r.err = r.fill()
	}
}

// fill writes more bytes to the window.
func (r *lzma2Reader) fill() error {
	if r.left == 0 {
		if err := r.nextChunk(); err != nil || r.done {
			return err
		}
	}
	if !r.plain {
		before := r.s.w.total
		err := r.s.decode(r.left)
		r.left -= r.s.w.total - before
		if err == nil && r.s.ended {
			err = errLZMA
		}
		return err
	}
	w := r.s.w
	n := int(min(r.left, int64(w.space())))
	if _, err := io.ReadFull(r.src, w.buf[w.pos:w.pos+n]); err != nil {
		return fmt.Errorf("%w: %w", errLZMA, err)
	}
	w.pos += n
	w.total += int64(n)
	r.left -= int64(n)
	return nil
}

// nextChunk reads a chunk's header; see the LZMA2 part of the xz format.
func (r *lzma2Reader) nextChunk() error {
	if _, err := r.src.Discard(r.packed); err != nil {
		return fmt.Errorf("%w: %w", errLZMA, err)
	}
	r.packed = 0
	var head [6]byte
	if _, err := io.ReadFull(r.src, head[:1]); err != nil {
		return fmt.Errorf("%w: %w", errLZMA, err)
	}
	control := head[0]
	switch {
	case control == 0:
		r.done = true
		return nil
	case control == 1 || control == 2:
		return r.plainChunk(control == 1, head[1:3])
	case control < 0x80:
		return errLZMA
	}
	n := 4
	if control >= 0xc0 {
		n = 5
	}
	if _, err := io.ReadFull(r.src, head[1:1+n]); err != nil {
		return fmt.Errorf("%w: %w", errLZMA, err)
	}
	r.plain = false
	r.left = int64(control&0x1f)<<16 + int64(binary.BigEndian.Uint16(head[1:])) + 1
	r.packed = int(binary.BigEndian.Uint16(head[3:])) + 1
	if err := r.resets(control, head[5]); err != nil {
		return err
	}
	chunk, err := r.src.Peek(r.packed)
	if err != nil {
		return fmt.Errorf("%w: %w", errLZMA, err)
	}
	r.s.rc = rangeDecoder{buf: chunk}
	return r.s.rc.start()
}

func (r *lzma2Reader) plainChunk(resetDict bool, head []byte) error {
	if _, err := io.ReadFull(r.src, head); err != nil {
		return fmt.Errorf("%w: %w", errLZMA, err)
	}
	if resetDict {
		r.s.w.total, r.hasDict = 0, true
	}
	if !r.hasDict {
		return errLZMA
	}
	r.plain, r.left = true, int64(binary.BigEndian.Uint16(head))+1
	return nil
}

// resets performs the resets that a compressed chunk's control byte requests.
func (r *lzma2Reader) resets(control, props byte) error {
	if control >= 0xe0 {
		r.s.w.total, r.hasDict = 0, true
	}
	switch {
	case !r.hasDict:
		return errLZMA
	case control >= 0xc0:
		r.hasProps = true
		if err := r.s.setProps(props); err != nil || r.s.lc+r.s.lp > 4 {
			return errLZMA
		}
	case !r.hasProps:
		return errLZMA
	case control >= 0xa0:
		r.s.reset()
	}
	return nil
}
