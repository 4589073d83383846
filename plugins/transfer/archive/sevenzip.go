package archive

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

const (
	szSignature = "7z\xbc\xaf\x27\x1c"
	szHeadSize  = 32
	// maxSevenZipHeader limits the header, which is read into memory. At some 100
	// bytes per entry, it suffices for millions of files.
	maxSevenZipHeader = 1 << 28
)

// sevenZip is an opened 7z archive: folders of Copy, LZMA, LZMA2, Deflate and
// BZip2, and the filters Delta and BCJ (x86), alone or in a chain.
type sevenZip struct {
	src     Source
	streams szStreams
	files   szFiles
	// packAt is where the packed bytes of each folder begin.
	packAt []int64
	// fileOf is the number of each stream's file.
	fileOf []int32
}

// openSevenZip reads the header and checks names and sizes.
func openSevenZip(src Source, g *guard) (*sevenZip, error) {
	streams, files, err := readSevenZipHeader(src)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	a := &sevenZip{src: src, streams: streams, files: files}
	at := streams.packPos + szHeadSize
	for _, size := range streams.packSizes {
		a.packAt = append(a.packAt, at)
		if at < 0 || size < 0 || at > src.Size-size {
			return nil, fmt.Errorf("%w: packed bytes are outside the file", ErrFormat)
		}
		at += size
	}
	if len(a.packAt) < len(streams.folders) {
		return nil, fmt.Errorf("%w: %w", ErrFormat, errHeader)
	}
	return a, a.each(func(i int, e *Entry, stream int) error {
		if stream >= 0 {
			a.fileOf = append(a.fileOf, int32(i))
		}
		return g.admit(e)
	})
}

// each passes all entries in order, with the number of each entry's stream, or
// -1 if it has none.
func (a *sevenZip) each(visit func(i int, e *Entry, stream int) error) error {
	next := 0
	for i := range a.files.n {
		e := a.entry(i)
		if err := a.checkKind(i, e.Name); err != nil {
			return err
		}
		stream := -1
		if !a.files.empty.has(int64(i)) {
			if stream = next; stream >= len(a.streams.streams) {
				return fmt.Errorf("%w: more files than streams", ErrFormat)
			}
			e.Size, next = a.streams.streams[stream].size, next+1
		}
		if err := visit(i, &e, stream); err != nil {
			return err
		}
	}
	if next < len(a.streams.streams) {
		return fmt.Errorf("%w: more streams than files", ErrFormat)
	}
	return nil
}

// entry returns an entry without its size.
func (a *sevenZip) entry(i int) Entry {
	e := Entry{Name: a.files.name(i), Folder: a.files.folder.has(int64(i))}
	attr := a.files.attr(i)
	e.Executable = attr&0x8000 != 0 && attr>>16&0o100 != 0 && !e.Folder
	return e
}

// checkKind rejects what is neither a file nor a folder.
func (a *sevenZip) checkKind(i int, name string) error {
	attr := a.files.attr(i)
	kind := attr >> 28
	switch {
	case attr&0x400 != 0, attr&0x8000 != 0 && kind == 0o12:
		return fmt.Errorf("%w: %q is a link", ErrUnsafe, name)
	case attr&0x8000 != 0 && kind != 0 && kind != 0o4 && kind != 0o10:
		return fmt.Errorf("%w: %q is neither a file nor a folder", ErrUnsafe, name)
	}
	return nil
}

// walkSevenZip passes the entries in order. All names and sizes are checked
// before the first one.
func walkSevenZip(ctx context.Context, src Source, g *guard, visit func(Entry, io.Reader) error) error {
	a, err := openSevenZip(src, g)
	if err != nil {
		return err
	}
	r := szReader{a: a}
	defer r.close()
	clean := cleaner()
	return a.each(func(_ int, e *Entry, stream int) error {
		if err := cmp.Or(ctx.Err(), clean.admit(e)); err != nil {
			return err
		}
		if stream < 0 {
			if e.Name == "." {
				return nil
			}
			return visit(*e, strings.NewReader(""))
		}
		return r.open(stream, e.Name, func(plain io.Reader) error { return visit(*e, plain) })
	})
}

// szReader reads the folders of an archive, stream by stream.
type szReader struct {
	a      *sevenZip
	folder int
	plain  io.Reader
	done   func() // returns what plain uses to the pool
	// next is the stream that plain returns next.
	next int
}

// open opens a stream, which must come after the previous ones, for one call.
// Bytes that the call leaves unread are read and checked too.
func (r *szReader) open(stream int, name string, use func(io.Reader) error) error {
	s := &r.a.streams
	for stream >= s.folders[r.folder].first+s.folders[r.folder].streams {
		r.close()
		r.folder++
	}
	f := &s.folders[r.folder]
	if r.plain == nil {
		plain, done, err := openFolder7z(r.a.src, r.a.packAt[r.folder], s.packSizes[r.folder], s, f)
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		r.plain, r.done, r.next = plain, done, f.first
	}
	for ; r.next < stream; r.next++ {
		if err := r.use(name, func(io.Reader) error { return nil }); err != nil {
			return err
		}
	}
	err := r.use(name, use)
	r.next++
	return err
}

// close ends the folder that is open, if one is.
func (r *szReader) close() {
	if r.plain != nil {
		r.done()
		r.plain = nil
	}
}

func (r *szReader) use(name string, use func(io.Reader) error) error {
	s := r.a.streams.streams[r.next]
	plain := &checkedReader{r: r.plain, name: name, left: s.size, want: s, sum: crc32.NewIEEE()}
	if err := use(plain); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, plain)
	return err
}

// openFolder7z returns the plain bytes of a folder.
func openFolder7z(src Source, at, size int64, s *szStreams, f *szFolder) (io.Reader, func(), error) {
	packed, donePacked := openPacked(src, at, size)
	used := []func(){donePacked}
	done := func() {
		for _, give := range used {
			give()
		}
	}
	var r io.Reader = packed
	sizes := s.coderSizes(f)
	for _, i := range f.spec.order {
		plain, give, err := openCoder(r, f.spec.coders[i], sizes[i])
		if err != nil {
			done()
			return nil, nil, err
		}
		r, used = plain, append(used, give)
	}
	return r, done, nil
}

func openCoder(r io.Reader, c szCoder, size int64) (io.Reader, func(), error) {
	var err error
	done := func() {}
	switch c.method {
	case "\x00":
	case "\x03\x01\x01":
		r, err = newLZMAReader(r, c.props, size)
	case "\x21":
		r, err = newLZMA2Reader(r, c.props, size)
	case "\x03":
		r, err = newDeltaReader(r, c.props)
	case "\x03\x03\x01\x03":
		r, done = openBranch(r)
	case "\x04\x01\x08":
		r, done = openDeflate(r)
	case "\x04\x02\x02":
		r = openBzip2(r, size)
	case "\x06\xf1\x07\x01":
		return nil, nil, fmt.Errorf("%w: it is encrypted", ErrFormat)
	default:
		return nil, nil, fmt.Errorf("%w: compression method %x is not supported", ErrFormat, c.method)
	}
	if err != nil && !errors.Is(err, ErrUnsafe) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return r, done, err
}

// readSevenZipHeader reads the header, which may itself be compressed.
func readSevenZipHeader(src Source) (s szStreams, files szFiles, err error) {
	head := make([]byte, szHeadSize)
	if _, err := src.ReadAt(head, 0); err != nil {
		return s, files, err
	}
	if string(head[:6]) != szSignature || crc32.ChecksumIEEE(head[12:]) != binary.LittleEndian.Uint32(head[8:]) {
		return s, files, errHeader
	}
	at, size := binary.LittleEndian.Uint64(head[12:]), binary.LittleEndian.Uint64(head[20:])
	if size == 0 {
		return s, files, nil
	}
	if size > maxSevenZipHeader {
		return s, files, errHeader
	}
	if at > uint64(src.Size) || at+size+szHeadSize > uint64(src.Size) {
		return s, files, fmt.Errorf("it is cut off after %d bytes: %w", src.Size, io.ErrUnexpectedEOF)
	}
	header := make([]byte, size)
	if _, err := src.ReadAt(header, int64(at)+szHeadSize); err != nil {
		return s, files, err
	}
	if crc32.ChecksumIEEE(header) != binary.LittleEndian.Uint32(head[28:]) {
		return s, files, errors.New("wrong checksum of the 7z header")
	}
	for range 4 {
		h := headerReader{b: header}
		switch h.byte() {
		case idHeader:
			return h.header()
		case idEncodedHead:
			if header, err = unpackHeader(src, h.streams(), h.err); err != nil {
				return s, files, err
			}
		default:
			return s, files, errHeader
		}
	}
	return s, files, errHeader
}

func (h *headerReader) header() (s szStreams, files szFiles, err error) {
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

// unpackHeader decompresses a header. A header consists of names and numbers;
// if it is many times as long as its packed bytes, it is a bomb.
func unpackHeader(src Source, s szStreams, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if len(s.folders) != 1 || len(s.packSizes) != 1 || len(s.streams) != 1 {
		return nil, errHeader
	}
	at, packed, stream := s.packPos+szHeadSize, s.packSizes[0], s.streams[0]
	if at < 0 || packed < 0 || at > src.Size-packed || stream.size < 0 || stream.size > min(maxSevenZipHeader, max(4<<20, 64*packed)) {
		return nil, errHeader
	}
	r, done, err := openFolder7z(src, at, packed, &s, &s.folders[0])
	if err != nil {
		return nil, err
	}
	defer done()
	header := make([]byte, stream.size)
	plain := &checkedReader{r: r, name: "header", left: stream.size, want: stream, sum: crc32.NewIEEE()}
	if _, err := io.ReadFull(plain, header); err != nil {
		return nil, err
	}
	if _, err := plain.Read(nil); err != io.EOF {
		return nil, err
	}
	return header, nil
}
