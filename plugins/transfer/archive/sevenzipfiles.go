package archive

import (
	"encoding/binary"
	"unicode/utf16"
)

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
	for i := range defined {
		if defined[i] {
			if b := h.take(4); b != nil {
				attrs[i] = binary.LittleEndian.Uint32(b)
			}
		}
	}
	return attrs
}
