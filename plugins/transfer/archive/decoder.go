package archive

import (
	"bufio"
	"compress/bzip2"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// An archive may contain thousands of separately compressed files, so decoders
// and their buffers are pooled. The function that comes with a reader returns
// them to the pool; after that, the reader must not be used.

// packedBuffer is the size of the buffer for packed bytes. The header of an entry of a zip file
// fits in it.
const packedBuffer = 256 << 10

var bufferedReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, packedBuffer) }}

// openPacked reads the packed bytes of an entry.
func openPacked(src Source, at, size int64) (*bufio.Reader, func()) {
	r := bufferedReaders.Get().(*bufio.Reader)
	r.Reset(io.NewSectionReader(src, at, size))
	return r, func() {
		r.Reset(nil)
		bufferedReaders.Put(r)
	}
}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

func openDeflate(packed io.Reader) (io.Reader, func()) {
	r := inflaters.Get().(io.Reader)
	_ = r.(flate.Resetter).Reset(packed, nil) // never fails
	return r, func() { inflaters.Put(r) }
}

// zstdOptions prevent a decoder from starting goroutines, which would leak when
// the pool drops it.
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

// ReadZstd decompresses the body of a message of HTTP, which has a window of at
// most 8 MiB (RFC 9659).
func ReadZstd(packed io.Reader) (io.Reader, error) {
	return zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderLowmem(true))
}

// bzip2Unit divides all block sizes of bzip2.
const bzip2Unit = 100_000

// openBzip2 returns the plain bytes, size in number. A stream declares the size
// of its blocks, usually 900,000 bytes however short the file, and the decoder
// allocates four times that. So a stream that is too short for such a block is
// read with smaller blocks. A block is at most a fourth longer than its plain
// bytes, because four equal bytes are followed by a count of further ones.
func openBzip2(packed io.Reader, size int64) io.Reader {
	r := bufio.NewReaderSize(packed, 4096)
	if head, _ := r.Peek(4); len(head) == 4 && head[3] >= '1' && head[3] <= '9' && size >= 0 {
		units := min(size+size/4, 8*bzip2Unit)/bzip2Unit + 1
		head[3] = min(head[3], '0'+byte(units))
	}
	return bzip2.NewReader(r)
}

// openZipMethod decompresses bytes packed with a method of zip.
func openZipMethod(h *zipHeader, packed io.Reader) (r io.Reader, done func(), err error) {
	done = func() {}
	switch h.method {
	case methodStore:
		return packed, done, nil
	case methodDeflate:
		r, done = openDeflate(packed)
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
