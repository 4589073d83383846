package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz/lzma"

	"github.com/mleflow/mleflow/cache/leaf/secret"
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

// maxDictionary limits the memory of one LZMA stream. The largest preset of the
// newest 7-Zip versions needs 1.5 GiB; data sets use 64 MiB at most.
const maxDictionary = 1536 << 20

var errLZMA = errors.New("invalid LZMA data")

// dictionary returns the size of a stream's dictionary, which need not be larger
// than the stream.
func dictionary(claimed uint32, size int64) (uint32, error) {
	n := min(max(int64(claimed), lzma.MinDictCap), max(size, lzma.MinDictCap))
	if n > maxDictionary {
		return 0, fmt.Errorf("%w: LZMA dictionary of %d bytes", ErrUnsafe, n)
	}
	return uint32(n), nil
}

// newLZMAReader reads a raw LZMA stream of known length. It takes the five bytes of
// properties: lc/lp/pb and the dictionary size.
func newLZMAReader(src io.Reader, props []byte, size int64) (io.Reader, error) {
	if len(props) != 5 {
		return nil, errLZMA
	}
	dict, err := dictionary(binary.LittleEndian.Uint32(props[1:]), size)
	if err != nil {
		return nil, err
	}
	// The header of a .lzma file.
	head := binary.LittleEndian.AppendUint32([]byte{props[0]}, dict)
	head = binary.LittleEndian.AppendUint64(head, uint64(size))
	return openLZMA(lzma.NewReader(io.MultiReader(bytes.NewReader(head), src)))
}

// newLZMA2Reader reads a raw LZMA2 stream. It takes the properties byte, which
// contains the dictionary size.
func newLZMA2Reader(src io.Reader, props []byte, size int64) (io.Reader, error) {
	if len(props) != 1 || props[0] > 40 {
		return nil, errLZMA
	}
	dict, err := dictionary(lzma2Dictionary(props[0]), size)
	if err != nil {
		return nil, err
	}
	return openLZMA(lzma.Reader2Config{DictCap: int(dict)}.NewReader2(src))
}

// lzma2Dictionary returns the dictionary size that the properties byte of an LZMA2
// stream claims.
func lzma2Dictionary(props byte) uint32 {
	return uint32(min((2|uint64(props)&1)<<(props/2+11), math.MaxUint32))
}

func openLZMA[R io.Reader](r R, err error) (io.Reader, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLZMA, err)
	}
	return r, nil
}

// checkedReader reads one file's bytes and checks their length and checksum. It
// returns io.EOF only if both are right.
type checkedReader struct {
	r    io.Reader
	name string
	left int64
	want szStream
	sum  hash.Hash32
	// end says that r must end there as well.
	end bool
}

// Read implements io.Reader.
func (c *checkedReader) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, c.finish()
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	_, _ = c.sum.Write(p[:n])
	c.left -= int64(n)
	switch {
	case c.left == 0:
		err = nil
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		err = fmt.Errorf("%w: %q: %w", ErrFormat, c.name, errShort)
	case err != nil:
		err = fmt.Errorf("%w: %q: %w", ErrFormat, c.name, err)
	}
	return n, err
}

// finish returns io.EOF if everything is right.
func (c *checkedReader) finish() error {
	if c.want.hasCRC && c.sum.Sum32() != c.want.crc {
		return fmt.Errorf("%w: %q: wrong checksum", ErrFormat, c.name)
	}
	if c.end {
		if err := atEnd(c.r); err != nil {
			return fmt.Errorf("%w: %q: %w", ErrFormat, c.name, err)
		}
	}
	return io.EOF
}

// Errors of an entry's size.
var (
	errShort = errors.New("shorter than the archive says")
	errLong  = errors.New("longer than the archive says")
)

// atEnd returns an error unless r ends here, without one of its own.
func atEnd(r io.Reader) error {
	var one [1]byte
	if _, err := io.ReadFull(r, one[:]); err != io.EOF {
		return cmp.Or(err, errLong)
	}
	return nil
}

// The limits of the search in a compressed file: the memory of the decoder, and the
// plain bytes.
const (
	maxWindow   = 128 << 20
	maxSearched = 4 << 30
)

// Search returns secret.ErrFound if a file has a secret, or if it is compressed with
// gzip or zstd and its plain bytes have one. It opens the file once, or twice.
func Search(open func() (io.ReadCloser, error), secrets *secret.Set) error {
	format, err := searchFile(open, secrets, "")
	if err == nil && format != "" {
		_, err = searchFile(open, secrets, format)
	}
	return err
}

// searchFile searches the bytes of a file, or those that it is compressed of, and
// returns the format that it begins as. What cannot be decompressed has been searched
// as it is.
func searchFile(open func() (io.ReadCloser, error), secrets *secret.Set, packed Format) (format Format, err error) {
	file, err := open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := bufio.NewReaderSize(file, 256<<10)
	head, _ := r.Peek(4)
	if format = Sniff(head); format != TarGzip && format != TarZstd {
		format = ""
	}
	guard := secret.NewGuard(secrets)
	if packed == "" {
		_, err = io.Copy(guard, r)
		return format, err
	}
	plain, done, err := decompress(r, packed, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return format, nil
	}
	defer done()
	if _, err = io.Copy(guard, io.LimitReader(plain, maxSearched)); !errors.Is(err, secret.ErrFound) {
		err = nil
	}
	return format, err
}
