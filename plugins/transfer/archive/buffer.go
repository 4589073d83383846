package archive

import (
	"context"
	"io"
	"sync"
)

// smallBuffer holds a small entry.
type smallBuffer [smallEntry]byte

var smallBuffers = sync.Pool{New: func() any { return new(smallBuffer) }}

// pipeBuffers hold a piece of a large one.
var pipeBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// pipe copies while reading and writing in parallel, since both are CPU-bound:
// one side decompresses, the other hashes and writes.
func pipe(ctx context.Context, w io.Writer, r io.Reader) error {
	type piece struct {
		buf *[256 << 10]byte
		n   int
		err error
	}
	pieces := make(chan piece, 4)
	stop := make(chan struct{})
	go func() {
		defer close(pieces)
		for {
			buf := pipeBuffers.Get().(*[256 << 10]byte)
			n, err := io.ReadFull(r, buf[:])
			if err == io.ErrUnexpectedEOF {
				err = io.EOF
			}
			select {
			case pieces <- piece{buf, n, err}:
			case <-stop:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	var failed error
	for p := range pieces {
		if failed == nil {
			failed = ctx.Err()
		}
		if failed == nil {
			if _, failed = w.Write(p.buf[:p.n]); failed == nil && p.err != io.EOF {
				failed = p.err
			}
			if failed != nil {
				close(stop)
			}
		}
		pipeBuffers.Put(p.buf)
	}
	return failed
}

// bitmap is a growing set of small integers.
type bitmap []uint64

func (b bitmap) has(i int64) bool { return i/64 < int64(len(b)) && b[i/64]>>(i%64)&1 != 0 }

func (b *bitmap) set(i int64) {
	for i/64 >= int64(len(*b)) {
		*b = append(*b, make([]uint64, max(64, len(*b)))...)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitmap) clear(i int64) {
	if i/64 < int64(len(b)) {
		b[i/64] &^= 1 << (i % 64)
	}
}
