package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"sync"
)

// openZip reads and checks the directory of a zip archive.
func openZip(src Source, g *guard) (*zipDir, error) {
	dir, err := findZipDir(src)
	if err == nil {
		err = dir.check(g)
	}
	return dir, err
}

func walkZip(ctx context.Context, src Source, g *guard, visit func(Entry, io.Reader) error) error {
	dir, err := openZip(src, g)
	if err != nil {
		return err
	}
	return dir.each(func(h *zipHeader) error {
		if err := ctx.Err(); err != nil || h.Name == "." {
			return err
		}
		if h.Folder {
			return visit(h.Entry, nil)
		}
		r, err := h.openStream(src)
		if err != nil {
			return err
		}
		return errors.Join(visit(h.Entry, r), r.Close())
	})
}

// zip unpacks a zip file.
func (u *unpacker) zip() error {
	dir, err := openZip(u.src, u.guard)
	if err != nil {
		return err
	}
	u.list()
	return dir.each(func(h *zipHeader) error {
		switch {
		case h.Folder:
			return u.folder(h.Name)
		case u.done.has(h.index):
			return nil
		}
		return u.do(func() error {
			r, err := h.openStream(u.src)
			if err != nil {
				return err
			}
			defer r.Close()
			return u.put(h.index, h.Entry, r, func(task func() error) error { return task() })
		})
	})
}

// findZipDir reads the end of a zip file.
func findZipDir(src Source) (*zipDir, error) {
	n := min(src.Size, zipEndLen+1<<16-1)
	tail := make([]byte, n)
	if _, err := src.ReadAt(tail, src.Size-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	i := zipEndAt(tail, 0)
	if i < 0 {
		return nil, fmt.Errorf("%w: no end of the zip directory", ErrFormat)
	}
	if zipEndAt(tail[:i], len(tail)) >= 0 {
		return nil, fmt.Errorf("%w: it has two end records, so programs may disagree about its content", ErrUnsafe)
	}
	end := tail[i:]
	if comment := int(binary.LittleEndian.Uint16(end[20:])); len(end)-zipEndLen != comment {
		return nil, fmt.Errorf("%w: there are data after the end of the archive", ErrFormat)
	}
	d := &zipDir{src: src, count: uint64(binary.LittleEndian.Uint16(end[10:])), count16: true}
	size, offset := uint64(binary.LittleEndian.Uint32(end[12:])), uint64(binary.LittleEndian.Uint32(end[16:]))
	split := binary.LittleEndian.Uint16(end[4:]) != 0 || binary.LittleEndian.Uint16(end[6:]) != 0
	endAt := src.Size - n + int64(i)
	if d.count == 0xffff || size == 0xffffffff || offset == 0xffffffff || binary.LittleEndian.Uint16(end[4:]) == 0xffff {
		at, record, err := zip64End(src, endAt)
		if err != nil {
			return nil, err
		}
		if record != nil {
			d.count, d.count16 = binary.LittleEndian.Uint64(record[32:]), false
			size, offset = binary.LittleEndian.Uint64(record[40:]), binary.LittleEndian.Uint64(record[48:])
			split = binary.LittleEndian.Uint32(record[16:]) != 0 || binary.LittleEndian.Uint32(record[20:]) != 0
			endAt = at
		}
	}
	if split {
		return nil, fmt.Errorf("%w: it is one part of a split archive; join the parts first", ErrFormat)
	}
	if size > uint64(endAt) || offset > uint64(endAt)-size {
		return nil, fmt.Errorf("%w: the zip directory is outside the file", ErrFormat)
	}
	d.size, d.at = int64(size), endAt-int64(size)
	d.base = d.at - int64(offset)
	return d, d.checkStart()
}

// checkStart rejects a file that begins with entries of another archive. Where
// an archive is cut off after an entry that is a zip file, the end of that file
// looks like its own.
func (d *zipDir) checkStart() error {
	if d.base <= 0 {
		return nil
	}
	var first [4]byte
	if _, err := d.src.ReadAt(first[:], 0); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(first[:]) == zipLocalSig {
		return fmt.Errorf("%w: the first %d bytes are of another archive, or this one is cut off after an entry that is a zip file", ErrFormat, d.base)
	}
	return nil
}

// zipEndAt returns the position of the end record in the last bytes of a file,
// or -1. It is the last one whose comment fits in the file, or, with exact,
// ends exactly there.
func zipEndAt(tail []byte, exact int) int {
	for i := len(tail) - zipEndLen; i >= 0; i-- {
		if binary.LittleEndian.Uint32(tail[i:]) != zipEndSig {
			continue
		}
		end := i + zipEndLen + int(binary.LittleEndian.Uint16(tail[i+20:]))
		if end == exact || exact == 0 && end <= len(tail) {
			return i
		}
	}
	return -1
}

// zip64End returns the end record of a large zip file and its position, or nil
// if there is none.
func zip64End(src Source, endAt int64) (int64, []byte, error) {
	if endAt < zipLocatorLen+zipEnd64Len {
		return 0, nil, nil
	}
	var locator [zipLocatorLen]byte
	if _, err := src.ReadAt(locator[:], endAt-zipLocatorLen); err != nil {
		return 0, nil, err
	}
	if binary.LittleEndian.Uint32(locator[:]) != zipLocatorSig {
		return 0, nil, nil
	}
	if binary.LittleEndian.Uint32(locator[16:]) > 1 {
		return 0, nil, fmt.Errorf("%w: it is one part of a split archive; join the parts first", ErrFormat)
	}
	record := make([]byte, zipEnd64Len)
	// The offset in the record does not count what precedes the archive, and the
	// record may be longer than its known fields. It usually ends at the locator.
	for _, at := range []uint64{binary.LittleEndian.Uint64(locator[8:]), uint64(endAt - zipLocatorLen - zipEnd64Len)} {
		if at > uint64(endAt-zipLocatorLen-zipEnd64Len) {
			continue
		}
		if _, err := src.ReadAt(record, int64(at)); err != nil {
			return 0, nil, err
		}
		if binary.LittleEndian.Uint32(record) == zipEnd64Sig {
			return int64(at), record, nil
		}
	}
	return 0, nil, fmt.Errorf("%w: the zip64 locator does not point to an end record", ErrFormat)
}

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
		method := strconv.Itoa(int(h.method))
		if name := methodNames[h.method]; name != "" {
			method += " (" + name + ")"
		}
		return fmt.Errorf("%w: %q is compressed by method %s, which is not supported; pack it again with Deflate", ErrFormat, h.Name, method)
	}
	return nil
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
	want := szStream{h.Size, h.crc, true}
	checked := &checkedReader{r: plain, name: h.Name, left: h.Size, want: want, sum: crc32.NewIEEE(), end: true}
	return zipStream{checked, sync.OnceFunc(func() { donePlain(); donePacked() })}, nil
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

// zipStream is an entry that is read as a stream. done returns its buffers, once.
type zipStream struct {
	*checkedReader
	done func()
}

// Close implements io.Closer.
func (s zipStream) Close() error {
	s.done()
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
