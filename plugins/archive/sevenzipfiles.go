package archive

import (
	"encoding/binary"
	"unicode/utf16"
)

func (h *headerReader) files() []szFile {
	n := h.count()
	if n > len(h.b)/2 {
		h.fail()
		return nil
	}
	files := make([]szFile, n)
	for i := range files {
		files[i].hasStream = true
	}
	var empty []int
	for h.err == nil {
		id := h.byte()
		if id == idEnd {
			return files
		}
		p := headerReader{b: h.take(h.count())}
		switch id {
		case idEmptyStream:
			for i, is := range p.bits(n) {
				if is {
					files[i].hasStream, files[i].folder = false, true
					empty = append(empty, i)
				}
			}
		case idEmptyFile:
			for k, is := range p.bits(len(empty)) {
				files[empty[k]].folder = !is
			}
		case idAnti:
			h.fail()
		case idNames:
			p.names(files)
		case idAttributes:
			p.attributes(files)
		}
		if p.err != nil {
			h.fail()
		}
	}
	return files
}

func (h *headerReader) names(files []szFile) {
	if h.byte() != 0 {
		h.fail()
	}
	for i := range files {
		var units []uint16
		for {
			b := h.take(2)
			if b == nil {
				return
			}
			u := binary.LittleEndian.Uint16(b)
			if u == 0 {
				break
			}
			units = append(units, u)
		}
		files[i].name = string(utf16.Decode(units))
	}
}

func (h *headerReader) attributes(files []szFile) {
	defined := h.optionalBits(len(files))
	if h.byte() != 0 {
		h.fail()
	}
	for i := range defined {
		if defined[i] {
			if b := h.take(4); b != nil {
				files[i].attr = binary.LittleEndian.Uint32(b)
			}
		}
	}
}
