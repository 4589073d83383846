package archive

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Compression methods of zip entries.
const (
	methodStore   = 0
	methodDeflate = 8
	methodBzip2   = 12
	methodLZMA    = 14
	methodZstd    = 93
)

// methodNames are the names of unsupported methods.
var methodNames = map[uint16]string{
	1: "Shrink", 2: "Reduce", 3: "Reduce", 4: "Reduce", 5: "Reduce", 6: "Implode", 9: "Deflate64", 10: "PKWARE Implode", 18: "IBM TERSE",
	19: "IBM LZ77", 94: "MP3", 95: "XZ", 96: "JPEG", 97: "WavPack", 98: "PPMd", 99: "AES",
}

func checkZipMethod(h *zipHeader) error {
	switch h.method {
	case methodStore:
		if h.packed != h.Size {
			return fmt.Errorf("%w: %q is not compressed and has two sizes, %d and %d bytes", ErrFormat, h.Name, h.packed, h.Size)
		}
	case methodDeflate, methodBzip2, methodLZMA, methodZstd:
	default:
		return fmt.Errorf("%w: %q is compressed by method %d%s, which is not supported; pack it again with Deflate",
			ErrFormat, h.Name, h.method, inBrackets(methodNames[h.method]))
	}
	return nil
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// local reads the header before an entry's bytes and returns where the bytes
// begin. It must agree with the directory, so that no two readers see different
// files.
func (h *zipHeader) local(b []byte) (int, error) {
	le := binary.LittleEndian
	if len(b) < zipLocalLen || le.Uint32(b) != zipLocalSig {
		return 0, fmt.Errorf("%w: %q is not at the offset given in the directory", ErrFormat, h.Name)
	}
	nameLen, extraLen := int(le.Uint16(b[26:])), int(le.Uint16(b[28:]))
	if len(b) < zipLocalLen+nameLen {
		return 0, fmt.Errorf("%w: %q is truncated", ErrFormat, h.Name)
	}
	if name := b[zipLocalLen : zipLocalLen+nameLen]; string(name) != h.raw {
		return 0, fmt.Errorf("%w: an entry is named %q in the directory and %q in its own header", ErrUnsafe, h.raw, name)
	}
	flags := le.Uint16(b[6:])
	if flags&zipEncrypted != 0 || le.Uint16(b[8:]) != h.method {
		return 0, fmt.Errorf("%w: the directory and the entry's own header disagree on the compression of %q", ErrUnsafe, h.Name)
	}
	if flags&zipDescriptor == 0 {
		if err := h.localSizes(b, nameLen, extraLen); err != nil {
			return 0, err
		}
	}
	start := zipLocalLen + nameLen + extraLen
	if h.at+int64(start)+h.packed > h.limit {
		return 0, fmt.Errorf("%w: %q shares bytes with another entry", ErrUnsafe, h.Name)
	}
	return start, nil
}

// localSizes compares the sizes and the checksum in the local header with the
// directory.
func (h *zipHeader) localSizes(b []byte, nameLen, extraLen int) error {
	le := binary.LittleEndian
	crc, packed, size := le.Uint32(b[14:]), uint64(le.Uint32(b[18:])), uint64(le.Uint32(b[22:]))
	if packed == 0xffffffff || size == 0xffffffff {
		if len(b) < zipLocalLen+nameLen+extraLen {
			return nil // checked later against the bytes themselves
		}
		var at uint64
		var disk uint32
		extra := b[zipLocalLen+nameLen : zipLocalLen+nameLen+extraLen]
		if err := zip64Extra(extra, &size, &packed, &at, &disk); err != nil {
			return fmt.Errorf("%w: %q %w", ErrFormat, h.Name, err)
		}
	}
	if crc != h.crc || packed != uint64(h.packed) || size != uint64(h.Size) {
		return fmt.Errorf("%w: the directory and the entry's own header disagree on the size or checksum of %q", ErrUnsafe, h.Name)
	}
	return nil
}

// openStream returns the entry's plain bytes, checked while they are read.
func (h *zipHeader) openStream(src Source) (io.ReadCloser, error) {
	packed, donePacked := openPacked(src, h.at, h.limit-h.at)
	plain, donePlain, err := h.open(src, packed)
	if err != nil {
		donePacked()
		return nil, err
	}
	return &zipStream{checked: h.checked(plain), done: func() { donePlain(); donePacked() }}, nil
}

// open reads the local header and returns the plain bytes. The packed ones of a small entry are
// read with the header.
func (h *zipHeader) open(src Source, r *bufio.Reader) (plain io.Reader, done func(), err error) {
	head, err := r.Peek(int(min(h.limit-h.at, packedBuffer)))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	start, err := h.local(head)
	if err != nil {
		return nil, nil, err
	}
	if end := int64(start) + h.packed; end <= int64(len(head)) {
		return openZipMethod(h, bytes.NewReader(head[start:end]))
	}
	r.Reset(io.NewSectionReader(src, h.at+int64(start), h.packed))
	return openZipMethod(h, r)
}

// zipStream is an entry that is read as a stream.
type zipStream struct {
	checked *checkedReader
	done    func() // nil once closed
}

// Read implements io.Reader.
func (s *zipStream) Read(p []byte) (int, error) { return s.checked.Read(p) }

// Close implements io.Closer.
func (s *zipStream) Close() error {
	if s.done != nil {
		s.done()
		s.done = nil
	}
	return nil
}

// openZipLZMA reads the header of LZMA data in a zip file: two bytes of
// version, the length of the properties, and the properties.
func openZipLZMA(h *zipHeader, packed io.Reader) (io.Reader, error) {
	var head [9]byte
	if _, err := io.ReadFull(packed, head[:]); err != nil {
		return nil, errLZMA
	}
	if binary.LittleEndian.Uint16(head[2:]) != 5 {
		return nil, errLZMA
	}
	return newLZMAReader(packed, head[4:], h.Size)
}

// checked checks an entry's plain bytes while they are read.
func (h *zipHeader) checked(plain io.Reader) *checkedReader {
	return &checkedReader{r: plain, name: h.Name, left: h.Size, want: szStream{h.Size, h.crc, true}, sum: crc32.NewIEEE(), end: true}
}

// Errors of an entry's size.
var (
	errShort = errors.New("shorter than the archive says")
	errLong  = errors.New("longer than the archive says")
)
