package archive

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"
	"unicode/utf16"
)

// Property numbers of the 7z format.
const (
	idEnd          = 0
	idHeader       = 1
	idMainStreams  = 4
	idFiles        = 5
	idPackInfo     = 6
	idUnpackInfo   = 7
	idSubStreams   = 8
	idSize         = 9
	idCRC          = 10
	idFolder       = 11
	idCodersSize   = 12
	idNumStreams   = 13
	idEmptyStream  = 14
	idEmptyFile    = 15
	idAnti         = 16
	idNames        = 17
	idAttributes   = 21
	idEncodedHead  = 23
	maxHeaderItems = 1 << 26
)

var errHeader = errors.New("broken 7z header")

// szCoder is a step of a folder's decompression.
type szCoder struct {
	method string
	props  []byte
}

var errBCJ2 = errors.New("the filter BCJ2 is not supported; pack it again without it (7z a -mf=off)")

// headerReader reads a header. After the first error, all reads fail.
type headerReader struct {
	b   []byte
	err error
}

func (h *headerReader) fail() { h.failed(errHeader) }

func (h *headerReader) failed(err error) { h.err = cmp.Or(h.err, err); h.b = nil }

func (h *headerReader) take(n int) []byte {
	if n < 0 || n > len(h.b) {
		h.fail()
		return nil
	}
	out := h.b[:n]
	h.b = h.b[n:]
	return out
}

func (h *headerReader) byte() byte {
	b := h.take(1)
	if b == nil {
		return 0
	}
	return b[0]
}

// number reads a 7z number: the leading ones of the first byte count the bytes
// that follow; its other bits are the highest.
func (h *headerReader) number() uint64 {
	first := h.byte()
	n := bits.LeadingZeros8(^first)
	var wide [8]byte
	copy(wide[:], h.take(n))
	v := binary.LittleEndian.Uint64(wide[:])
	if n < 8 {
		v += uint64(first&(1<<(7-n)-1)) << (8 * n)
	}
	return v
}

// upTo reads a number of at most most.
func (h *headerReader) upTo(most uint64) int64 {
	n := h.number()
	if n > most {
		h.fail()
		return 0
	}
	return int64(n)
}

// count reads the number of elements that follow; each takes at least one byte
// of the header.
func (h *headerReader) count() int { return int(h.upTo(maxHeaderItems)) }

func (h *headerReader) size() int64 { return h.upTo(1 << 62) }

func (h *headerReader) bits(n int) []bool {
	packed := h.take((n + 7) / 8)
	if packed == nil {
		return nil
	}
	out := make([]bool, n)
	for i := range out {
		out[i] = packed[i/8]>>(7-i%8)&1 != 0
	}
	return out
}

// optionalBits reads a bitmap, or a byte that says that all bits are set. Each
// bit stands for four bytes that follow.
func (h *headerReader) optionalBits(n int) []bool {
	if h.byte() == 0 {
		return h.bits(n)
	}
	if n > len(h.b)/4 {
		h.fail()
		return nil
	}
	return slices.Repeat([]bool{true}, n)
}

// digests reads checksums and passes each to set.
func (h *headerReader) digests(n int, set func(i int, crc uint32)) { h.values(h.optionalBits(n), set) }

// values reads a number for each bit that is set.
func (h *headerReader) values(defined []bool, set func(i int, v uint32)) {
	for i, is := range defined {
		if is {
			if b := h.take(4); b != nil {
				set(i, binary.LittleEndian.Uint32(b))
			}
		}
	}
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

// records reads records up to the end mark. Each begins with its property number.
func (h *headerReader) records(readers map[byte]func()) {
	for h.err == nil {
		id := h.byte()
		if id == idEnd {
			return
		}
		if read := readers[id]; read != nil {
			read()
		} else {
			h.fail()
		}
	}
}

func (h *headerReader) header() (s szStreams, files szFiles, err error) {
	h.records(map[byte]func(){
		idMainStreams: func() { s = h.streams() },
		idFiles:       func() { files = h.files() },
	})
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

// szFiles are the entries of a header, stored much as in the header itself.
type szFiles struct {
	n int
	// names has all names in UTF-16, each followed by a zero; at is where each
	// begins.
	names []byte
	at    []uint32
	attrs []uint32
	// empty entries have no stream; folders are among them.
	empty, folder bitmap
}

// name decodes a name.
func (f *szFiles) name(i int) string {
	if len(f.at) <= i {
		return ""
	}
	units := make([]uint16, 0, 64)
	for b := f.names[f.at[i]:]; ; b = b[2:] {
		u := binary.LittleEndian.Uint16(b)
		if u == 0 {
			return string(utf16.Decode(units))
		}
		units = append(units, u)
	}
}

func (f *szFiles) attr(i int) uint32 {
	if len(f.attrs) <= i {
		return 0
	}
	return f.attrs[i]
}

func (h *headerReader) files() (f szFiles) {
	// A name has at least one letter, and a zero after it.
	if f.n = h.count(); f.n > len(h.b)/4 {
		h.fail()
		return f
	}
	for h.err == nil {
		id := h.byte()
		if id == idEnd {
			return f
		}
		p := headerReader{b: h.take(h.count())}
		switch id {
		case idEmptyStream:
			for i, is := range p.bits(f.n) {
				if is {
					f.empty.set(int64(i))
					f.folder.set(int64(i))
				}
			}
		case idEmptyFile:
			f.emptyFiles(&p)
		case idAnti:
			h.fail()
		case idNames:
			f.at = p.names(&f)
		case idAttributes:
			f.attrs = p.attributes(f.n)
		}
		if p.err != nil {
			h.fail()
		}
	}
	return f
}

// emptyFiles reads which of the entries without a stream are files.
func (f *szFiles) emptyFiles(p *headerReader) {
	var empty []int64
	for i := range int64(f.n) {
		if f.empty.has(i) {
			empty = append(empty, i)
		}
	}
	for k, is := range p.bits(len(empty)) {
		if is {
			f.folder.clear(empty[k])
		}
	}
}

// names finds where each name begins.
func (h *headerReader) names(f *szFiles) []uint32 {
	if h.byte() != 0 {
		h.fail()
	}
	f.names = h.b
	if f.n > len(h.b)/2 {
		h.fail()
		return nil
	}
	at := make([]uint32, f.n)
	for i := range at {
		at[i] = uint32(len(f.names) - len(h.b))
		for {
			b := h.take(2)
			if b == nil {
				return nil
			}
			if b[0] == 0 && b[1] == 0 {
				break
			}
		}
	}
	return at
}

func (h *headerReader) attributes(n int) []uint32 {
	defined := h.optionalBits(n)
	if h.byte() != 0 {
		h.fail()
		return nil
	}
	attrs := make([]uint32, n)
	h.values(defined, func(i int, v uint32) { attrs[i] = v })
	return attrs
}
