package archive

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// Archives may hold a file by the thousand, each compressed by itself. What a
// decoder needs to begin is therefore lent to it, and given back by the
// function that comes with its reader, after which that must not be read.

var bufferedReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 256<<10) }}

// openPacked reads the packed bytes of an entry.
func openPacked(src Source, at, size int64) (*bufio.Reader, func()) {
	r := bufferedReaders.Get().(*bufio.Reader)
	r.Reset(io.NewSectionReader(src, at, size))
	return r, func() {
		r.Reset(nil)
		bufferedReaders.Put(r)
	}
}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}

func openDeflate(packed io.Reader) (io.Reader, func(), error) {
	r := inflaters.Get().(io.ReadCloser)
	if err := r.(flate.Resetter).Reset(packed, nil); err != nil {
		return nil, nil, err
	}
	return r, func() { inflaters.Put(r) }, nil
}

// zstdOptions keep a decoder from starting goroutines, which a pool would lose.
var zstdOptions = []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDictionary), zstd.WithDecoderLowmem(true)}

var zstdDecoders sync.Pool

func openZstd(packed io.Reader) (io.Reader, func(), error) {
	r, ok := zstdDecoders.Get().(*zstd.Decoder)
	if !ok {
		var err error
		if r, err = zstd.NewReader(nil, zstdOptions...); err != nil {
			return nil, nil, err
		}
	}
	if err := r.Reset(packed); err != nil {
		return nil, nil, err
	}
	return r, func() {
		if r.Reset(nil) == nil {
			zstdDecoders.Put(r)
		}
	}, nil
}

// bzip2Unit is what the sizes of bzip2's blocks are multiples of.
const bzip2Unit = 100_000

// openBzip2 returns the plain bytes, of which there are to be size. A stream
// says how long its blocks may be, which is 900,000 bytes however short the
// file, and the decoder takes four times that. So one that cannot be as long is
// read as one of shorter blocks. A block is at most a fourth longer than its
// plain bytes: four equal ones are followed by how many more there are.
func openBzip2(packed io.Reader, size int64) io.Reader {
	r := bufio.NewReaderSize(packed, 4096)
	if head, _ := r.Peek(4); len(head) == 4 && head[3] >= '1' && head[3] <= '9' && size >= 0 {
		units := min(size+size/4, 8*bzip2Unit)/bzip2Unit + 1
		head[3] = min(head[3], '0'+byte(units))
	}
	return bzip2.NewReader(r)
}

// openZipMethod returns the plain bytes of packed ones.
func openZipMethod(h *zipHeader, packed io.Reader) (r io.Reader, done func(), err error) {
	done = func() {}
	switch h.method {
	case methodStore:
		return packed, done, nil
	case methodDeflate:
		r, done, err = openDeflate(packed)
	case methodBzip2:
		r = openBzip2(packed, h.Size)
	case methodZstd:
		r, done, err = openZstd(packed)
	default:
		r, err = openZipLZMA(h, packed)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %q: %w", ErrFormat, h.Name, err)
	}
	return r, done, nil
}
