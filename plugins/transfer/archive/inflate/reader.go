package inflate

import (
	"errors"
	"io"
	"sync"
)

// ErrLong is returned by Decode if there is more output than fits.
var ErrLong = errors.New("more data than expected")

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Decode decodes a whole stream into dst and returns the number of bytes. dst must
// have Slack bytes beyond those that the stream may give; what is written to them is
// undefined. What follows the stream in src is ignored. It returns ErrLong if the
// stream gives more, io.ErrUnexpectedEOF if it is cut off and ErrCorrupt.
func Decode(dst, src []byte) (n int, err error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	size := len(dst) - Slack
	d.reset(src, nil, dst)
	err = d.run(size + 1)
	d.in, d.out = nil, nil
	switch {
	case d.w > size:
		return size, ErrLong
	case err == io.EOF:
		err = nil
	}
	return d.w, err
}

const (
	inputSize = 64 << 10
	// chunkSize is how many bytes are decoded at once. With the window they stay in
	// the processor's cache.
	chunkSize = 128 << 10
)

// Reader decodes a stream as it is read. It may read beyond the end of the stream.
// It is for one goroutine at a time.
type Reader struct {
	d    decoder
	src  io.Reader
	read int // of d.out
	err  error
	in   [inputSize]byte
	out  [windowSize + chunkSize + Slack]byte
}

// NewReader returns a Reader of src.
func NewReader(src io.Reader) *Reader {
	r := new(Reader)
	r.Reset(src)
	return r
}

// Reset makes r read src from its beginning. A nil src lets go of the last.
func (r *Reader) Reset(src io.Reader) {
	r.src, r.read, r.err = src, 0, nil
	r.d.reset(r.in[:0], r.more, r.out[:])
}

// more reads further input behind the last eight bytes.
func (r *Reader) more(d *decoder) error {
	kept := copy(r.in[:], d.in[max(0, d.r-8):])
	d.r = min(d.r, 8)
	for range 100 {
		n, err := r.src.Read(r.in[kept:])
		if d.in = r.in[:kept+n]; n > 0 {
			return nil // err comes again
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// Read implements io.Reader. It returns the bytes before an error first.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.read == r.d.w {
		if r.err != nil {
			return 0, r.err
		}
		if r.d.w > windowSize {
			copy(r.out[:windowSize], r.out[r.d.w-windowSize:r.d.w])
			r.d.w, r.read = windowSize, windowSize
		}
		r.err = r.d.run(windowSize + chunkSize)
	}
	n := copy(p, r.out[r.read:r.d.w])
	r.read += n
	return n, nil
}
