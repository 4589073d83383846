package archive

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Lengths and signatures of the records of a zip file (APPNOTE 6.3.10).
const (
	zipLocalLen   = 30
	zipCentralLen = 46
	zipEndLen     = 22
	zipLocatorLen = 20
	zipEnd64Len   = 56
	zipLocalSig   = 0x04034b50
	zipCentralSig = 0x02014b50
	zipEndSig     = 0x06054b50
	zipLocatorSig = 0x07064b50
	zipEnd64Sig   = 0x06064b50
	zipExtra64    = 0x0001
	zipSignature  = 0x05054b50
)

// Bits of an entry's flags.
const (
	zipEncrypted  = 1 << 0
	zipDescriptor = 1 << 3
	zipPatched    = 1 << 5
	zipStrong     = 1 << 6
	zipUTF8       = 1 << 11
	zipMasked     = 1 << 13
)

// zipDir is the position of the directory in a zip file.
type zipDir struct {
	src Source
	// base is how many bytes precede the archive, as in a self-extracting program.
	// All offsets count from there.
	base int64
	// at and size are the position of the directory in the file.
	at, size int64
	// count is the number of entries, modulo 65,536 as old writers store it.
	count   uint64
	count16 bool
	// starts are the sorted offsets of all entries if the directory lists them in
	// another order; otherwise nil.
	starts []int64
}

// zipHeader is one entry of the directory.
type zipHeader struct {
	Entry
	// index is the entry's number in the directory.
	index  int64
	raw    string // the name as it is written there
	flags  uint16
	method uint16
	crc    uint32
	packed int64
	// at is the offset of the local header in the file, and limit where the next
	// record begins.
	at, limit int64
}

// dirReader reads the directory entry by entry, in bounded memory.
type dirReader struct {
	dir  *zipDir
	buf  []byte
	from int   // the part of buf that was read
	next int64 // offset in the file of what follows buf
	n    int64 // entries so far
}

func (d *zipDir) entries() *dirReader {
	return &dirReader{dir: d, buf: make([]byte, 0, min(1<<18, d.size)), next: d.at}
}

// need makes n bytes available, unless the directory ends before them.
func (r *dirReader) need(n int) ([]byte, error) {
	if len(r.buf)-r.from < n {
		kept := copy(r.buf[:cap(r.buf)], r.buf[r.from:])
		r.buf, r.from = r.buf[:kept], 0
		more := min(int64(cap(r.buf)-kept), r.dir.at+r.dir.size-r.next)
		if int64(n-kept) > more {
			return nil, fmt.Errorf("%w: the zip directory is truncated", ErrFormat)
		}
		r.buf = r.buf[:kept+int(more)]
		if got, err := r.dir.src.ReadAt(r.buf[kept:], r.next); int64(got) < more {
			r.buf = r.buf[:kept]
			return nil, cmp.Or(err, io.ErrUnexpectedEOF)
		}
		r.next += more
	}
	return r.buf[r.from : r.from+n], nil
}

// end reports whether everything is read, except for a signature of the
// directory.
func (r *dirReader) end() bool {
	left := r.dir.at + r.dir.size - r.next + int64(len(r.buf)-r.from)
	if left == 0 {
		return true
	}
	b, err := r.need(4)
	return err == nil && binary.LittleEndian.Uint32(b) == zipSignature
}

// read returns the next entry, or io.EOF. Its name is not checked yet.
func (r *dirReader) read() (h zipHeader, err error) {
	if r.end() {
		if d := r.dir; uint64(r.n) != d.count && !(d.count16 && uint64(r.n)&0xffff == d.count) {
			return h, fmt.Errorf("%w: the zip directory contains %d entries but declares %d", ErrFormat, r.n, d.count)
		}
		return h, io.EOF
	}
	b, err := r.need(zipCentralLen)
	if err != nil {
		return h, err
	}
	if binary.LittleEndian.Uint32(b) != zipCentralSig {
		return h, fmt.Errorf("%w: the zip directory is invalid after entry %d", ErrFormat, r.n)
	}
	nameLen, extraLen := int(binary.LittleEndian.Uint16(b[28:])), int(binary.LittleEndian.Uint16(b[30:]))
	whole := zipCentralLen + nameLen + extraLen + int(binary.LittleEndian.Uint16(b[32:]))
	if b, err = r.need(whole); err != nil {
		return h, err
	}
	r.from += whole
	h.index = r.n
	r.n++
	return h, h.parse(b, nameLen, extraLen, r.dir)
}

// parse reads a record of the directory.
func (h *zipHeader) parse(b []byte, nameLen, extraLen int, d *zipDir) error {
	le := binary.LittleEndian
	h.flags, h.method, h.crc = le.Uint16(b[8:]), le.Uint16(b[10:]), le.Uint32(b[16:])
	raw := b[zipCentralLen : zipCentralLen+nameLen]
	extra := b[zipCentralLen+nameLen : zipCentralLen+nameLen+extraLen]
	packed, size, at, disk := uint64(le.Uint32(b[20:])), uint64(le.Uint32(b[24:])), uint64(le.Uint32(b[42:])), uint32(le.Uint16(b[34:]))
	h.Name = zipName(raw, h.flags)
	if h.raw = h.Name; h.raw != string(raw) {
		h.raw = string(raw)
	}
	if err := zip64Extra(extra, &size, &packed, &at, &disk); err != nil {
		return fmt.Errorf("%w: %q %w", ErrFormat, h.Name, err)
	}
	if disk != 0 {
		return fmt.Errorf("%w: %q is in another part of a split archive", ErrFormat, h.Name)
	}
	if size > 1<<62 || packed > uint64(d.at) || at > uint64(d.at-d.base)-packed {
		return fmt.Errorf("%w: %q is outside the file", ErrFormat, h.Name)
	}
	h.Size, h.packed, h.at = int64(size), int64(packed), d.base+int64(at)
	return h.kind(le.Uint16(b[4:])>>8, le.Uint32(b[38:]))
}

// zip64Extra replaces the fields that are too large for 32 bits.
func zip64Extra(extra []byte, size, packed, at *uint64, disk *uint32) error {
	field := extraField(extra, zipExtra64)
	for _, v := range []*uint64{size, packed, at} {
		if *v != 0xffffffff {
			continue
		}
		if len(field) < 8 {
			if field == nil {
				continue // a file of exactly that size, from before zip64
			}
			return errors.New("has an invalid size")
		}
		*v, field = binary.LittleEndian.Uint64(field), field[8:]
	}
	if *disk == 0xffff && len(field) >= 4 {
		*disk = binary.LittleEndian.Uint32(field)
	}
	return nil
}

// extraField returns the first extra field with that number, or nil.
func extraField(extra []byte, id uint16) []byte {
	for len(extra) >= 4 {
		n := int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return nil
		}
		if binary.LittleEndian.Uint16(extra) == id {
			return extra[4 : 4+n]
		}
		extra = extra[4+n:]
	}
	return nil
}

// kind reads the type of an entry. A folder's name ends with a slash, whatever
// the attributes say, as for Python's zipfile.
func (h *zipHeader) kind(host uint16, attr uint32) error {
	h.Folder = strings.HasSuffix(h.Name, "/")
	const unix, macOS = 3, 19
	if host == unix || host == macOS {
		h.Executable = attr>>16&0o100 != 0
		switch mode := attr >> 16 & 0o170000; mode {
		case 0, 0o100000, 0o040000:
		case 0o120000:
			return fmt.Errorf("%w: %q is a link", ErrUnsafe, h.Name)
		default:
			return fmt.Errorf("%w: %q is neither a file nor a folder", ErrUnsafe, h.Name)
		}
	}
	switch {
	case h.Folder && h.Size > 0:
		return fmt.Errorf("%w: folder %q has content", ErrFormat, h.Name)
	case h.flags&(zipEncrypted|zipStrong|zipMasked) != 0:
		return fmt.Errorf("%w: %q is encrypted", ErrFormat, h.Name)
	case h.flags&zipPatched != 0:
		return fmt.Errorf("%w: %q is a patch", ErrFormat, h.Name)
	}
	if h.Folder {
		h.Executable = false
		return nil
	}
	return checkZipMethod(h)
}

// zipName decodes a name as Python 3.11's zipfile does, which the reference
// unpacks with: as UTF-8 if the entry declares it, otherwise as code page 437,
// even if it is valid UTF-8 or an extra field has another name.
func zipName(raw []byte, flags uint16) string {
	if flags&zipUTF8 != 0 {
		return string(raw)
	}
	out := make([]rune, len(raw))
	for i, b := range raw {
		if out[i] = rune(b); b >= 0x80 {
			out[i] = codePage437[b-0x80]
		}
	}
	return string(out)
}

// codePage437 is the upper half of the character set of the first PCs.
var codePage437 = []rune("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0")

// check reads the whole directory before anything is unpacked, and checks
// names, limits, methods, and that no two entries share bytes.
func (d *zipDir) check(g *guard) error {
	sorted := true
	var last zipHeader
	for r := d.entries(); ; {
		h, err := r.read()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = g.admit(&h.Entry)
		}
		if err != nil {
			return err
		}
		if sorted = sorted && (h.index == 0 || h.at > last.at); sorted && h.index > 0 && h.at < last.end() {
			return fmt.Errorf("%w: %q and %q share bytes", ErrUnsafe, last.Name, h.Name)
		}
		last = h
	}
	if !sorted {
		return d.sortStarts()
	}
	if last.raw != "" && last.end() > d.at {
		return fmt.Errorf("%w: %q shares bytes with the directory", ErrUnsafe, last.Name)
	}
	return nil
}

// end is the earliest offset at which an entry can end.
func (h *zipHeader) end() int64 { return h.at + zipLocalLen + int64(len(h.raw)) + h.packed }

// sortStarts records where all entries begin, for a directory that lists them
// in another order.
func (d *zipDir) sortStarts() error {
	for r := d.entries(); ; {
		h, err := r.read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		d.starts = append(d.starts, h.at)
	}
	slices.Sort(d.starts)
	return nil
}

// each calls visit for every entry of a checked directory, in its order, with its
// clean name and the known facts about its position.
func (d *zipDir) each(visit func(h *zipHeader) error) error {
	r := d.entries()
	next, err := r.read()
	for err == nil {
		h := next
		next, err = r.read()
		if err != nil && err != io.EOF {
			return err
		}
		h.limit = d.at
		if i, _ := slices.BinarySearch(d.starts, h.at); i+1 < len(d.starts) {
			h.limit = d.starts[i+1]
		} else if d.starts == nil && err == nil {
			h.limit = next.at
		}
		if h.limit < h.end() {
			return fmt.Errorf("%w: %q shares bytes with another entry", ErrUnsafe, h.Name)
		}
		if err := h.clean(); err != nil {
			return err
		}
		if err := visit(&h); err != nil {
			return err
		}
	}
	if err != io.EOF {
		return err
	}
	return nil
}
