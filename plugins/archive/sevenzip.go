package archive

import (
	"bufio"
	"compress/bzip2"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

const (
	szSignature = "7z\xbc\xaf\x27\x1c"
	szHeadSize  = 32
	// maxSevenZipHeader bounds the header, which is read into memory.
	maxSevenZipHeader = 1 << 28
)

// walkSevenZip reads a 7z archive: folders of Copy, LZMA, LZMA2, Deflate and
// BZip2, alone or in a chain. Names and sizes are all checked before the
// first entry is given.
func walkSevenZip(ctx context.Context, src Source, g *guard, visit func(Entry, io.Reader) error) error {
	streams, files, err := readSevenZipHeader(src)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	entries, err := sevenZipEntries(streams, files, g)
	if err != nil {
		return err
	}
	w := szWalker{ctx: ctx, src: src, streams: streams, visit: visit}
	for i, e := range entries {
		if !files[i].hasStream {
			if e.Name == "." {
				continue
			}
			if err := visit(e, emptyReader{}); err != nil {
				return err
			}
			continue
		}
		if err := w.next(e); err != nil {
			return err
		}
	}
	return w.finish()
}

type emptyReader struct{}

// Read implements io.Reader.
func (emptyReader) Read([]byte) (int, error) { return 0, io.EOF }

// sevenZipEntries checks all entries and gives files their sizes.
func sevenZipEntries(streams szStreams, files []szFile, g *guard) ([]Entry, error) {
	var sizes []int64
	for _, f := range streams.folders {
		for _, s := range f.streams {
			sizes = append(sizes, s.size)
		}
	}
	entries := make([]Entry, len(files))
	for i, f := range files {
		e := Entry{Name: f.name, Folder: f.folder}
		if f.attr&0x8000 != 0 {
			e.Executable = f.attr>>16&0o100 != 0
		}
		if f.attr&0x8000 != 0 && f.attr>>28 == 0o12 || f.attr&0x400 != 0 {
			return nil, fmt.Errorf("%w: %q is a link", ErrUnsafe, f.name)
		}
		if f.hasStream {
			if len(sizes) == 0 {
				return nil, fmt.Errorf("%w: more files than streams", ErrFormat)
			}
			e.Size, sizes = sizes[0], sizes[1:]
		}
		if err := g.admit(&e); err != nil {
			return nil, err
		}
		entries[i] = e
	}
	if len(sizes) > 0 {
		return nil, fmt.Errorf("%w: more streams than files", ErrFormat)
	}
	return entries, nil
}

// szWalker goes through the folders of an archive, stream by stream.
type szWalker struct {
	ctx     context.Context
	src     Source
	streams szStreams
	visit   func(Entry, io.Reader) error
	folder  int
	stream  int
	plain   io.Reader
}

// next gives the next stream as the entry's bytes.
func (w *szWalker) next(e Entry) error {
	for w.stream == len(w.streams.folders[w.folder].streams) {
		w.folder, w.stream, w.plain = w.folder+1, 0, nil
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.plain == nil {
		plain, err := w.open(w.folder)
		if err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
		w.plain = plain
	}
	s := w.streams.folders[w.folder].streams[w.stream]
	w.stream++
	r := &checkedReader{r: w.plain, left: s.size, want: s, sum: crc32.NewIEEE()}
	if err := w.visit(e, r); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	return nil
}

func (w *szWalker) finish() error { return w.ctx.Err() }

// open returns the plain bytes of a folder.
func (w *szWalker) open(i int) (io.Reader, error) {
	if i >= len(w.streams.packSizes) {
		return nil, fmt.Errorf("%w: %w", ErrFormat, errHeader)
	}
	at := w.streams.packPos + szHeadSize
	for _, size := range w.streams.packSizes[:i] {
		at += size
	}
	return openFolder7z(w.src, at, w.streams.packSizes[i], &w.streams.folders[i])
}

func openFolder7z(src Source, at, size int64, f *szFolder) (io.Reader, error) {
	if at < 0 || size < 0 || at > src.Size-size {
		return nil, fmt.Errorf("%w: packed bytes lie outside the file", ErrFormat)
	}
	var r io.Reader = bufio.NewReaderSize(io.NewSectionReader(src, at, size), 1<<18)
	for _, i := range f.order {
		var err error
		if r, err = openCoder(r, f.coders[i], f.sizes[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func openCoder(r io.Reader, c szCoder, size int64) (io.Reader, error) {
	var err error
	switch c.method {
	case "\x00":
	case "\x03\x01\x01":
		r, err = newLZMAReader(r, c.props, size)
	case "\x21":
		r, err = newLZMA2Reader(r, c.props, size)
	case "\x04\x01\x08":
		r = flate.NewReader(r)
	case "\x04\x02\x02":
		r = bzip2.NewReader(r)
	case "\x06\xf1\x07\x01":
		return nil, fmt.Errorf("%w: it is encrypted", ErrFormat)
	default:
		return nil, fmt.Errorf("%w: compression method %x is not supported", ErrFormat, c.method)
	}
	if err != nil && !errors.Is(err, ErrUnsafe) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return r, err
}

// checkedReader reads one stream and checks its length and checksum.
type checkedReader struct {
	r    io.Reader
	left int64
	want szStream
	sum  hash.Hash32
}

// Read implements io.Reader.
func (c *checkedReader) Read(p []byte) (int, error) {
	if c.left == 0 {
		if c.want.hasCRC && c.sum.Sum32() != c.want.crc {
			return 0, fmt.Errorf("%w: wrong checksum", ErrFormat)
		}
		return 0, io.EOF
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	_, _ = c.sum.Write(p[:n])
	c.left -= int64(n)
	switch {
	case c.left == 0:
		err = nil
	case err == io.EOF:
		err = fmt.Errorf("%w: shorter than the archive says", ErrFormat)
	case err != nil:
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return n, err
}

// readSevenZipHeader reads the header, which may itself be compressed.
func readSevenZipHeader(src Source) (s szStreams, files []szFile, err error) {
	head := make([]byte, szHeadSize)
	if _, err := src.ReadAt(head, 0); err != nil {
		return s, nil, err
	}
	if string(head[:6]) != szSignature || crc32.ChecksumIEEE(head[12:]) != binary.LittleEndian.Uint32(head[8:]) {
		return s, nil, errHeader
	}
	at, size := binary.LittleEndian.Uint64(head[12:]), binary.LittleEndian.Uint64(head[20:])
	if size == 0 {
		return s, nil, nil
	}
	if size > maxSevenZipHeader || at > uint64(src.Size) || at+size+szHeadSize > uint64(src.Size) {
		return s, nil, errHeader
	}
	header := make([]byte, size)
	if _, err := src.ReadAt(header, int64(at)+szHeadSize); err != nil {
		return s, nil, err
	}
	if crc32.ChecksumIEEE(header) != binary.LittleEndian.Uint32(head[28:]) {
		return s, nil, errors.New("wrong checksum of the 7z header")
	}
	for range 4 {
		h := headerReader{b: header}
		switch h.byte() {
		case idHeader:
			return h.header()
		case idEncodedHead:
			if header, err = unpackHeader(src, h.streams(), h.err); err != nil {
				return s, nil, err
			}
		default:
			return s, nil, errHeader
		}
	}
	return s, nil, errHeader
}

func (h *headerReader) header() (s szStreams, files []szFile, err error) {
	for h.err == nil {
		switch h.byte() {
		case idEnd:
			return s, files, h.err
		case idMainStreams:
			s = h.streams()
		case idFiles:
			files = h.files()
		default:
			h.fail()
		}
	}
	return s, files, h.err
}

func unpackHeader(src Source, s szStreams, err error) ([]byte, error) {
	if err != nil || len(s.folders) != 1 || len(s.packSizes) != 1 || s.folders[0].size() > maxSevenZipHeader {
		return nil, errHeader
	}
	r, err := openFolder7z(src, s.packPos+szHeadSize, s.packSizes[0], &s.folders[0])
	if err != nil {
		return nil, err
	}
	stream := s.folders[0].streams[0]
	return io.ReadAll(&checkedReader{r: r, left: stream.size, want: stream, sum: crc32.NewIEEE()})
}
