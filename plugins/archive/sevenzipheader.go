package archive

import (
	"encoding/binary"
	"errors"
	"math/bits"
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

// szFolder is a compressed run of bytes that holds one file or several.
type szFolder struct {
	coders []szCoder
	// order lists the coders from the packed bytes to the plain ones.
	order []int
	// sizes are the sizes of what each coder gives.
	sizes []int64
	// streams are the files in it.
	streams []szStream
	crc     uint32
	hasCRC  bool
}

func (f *szFolder) size() int64 {
	if len(f.order) == 0 {
		return 0
	}
	return f.sizes[f.order[len(f.order)-1]]
}

// szStream is a file's bytes inside a folder.
type szStream struct {
	size   int64
	crc    uint32
	hasCRC bool
}

// szStreams is what a header says about packed bytes.
type szStreams struct {
	packPos   int64
	packSizes []int64
	folders   []szFolder
}

// szFile is an entry of the header.
type szFile struct {
	name      string
	hasStream bool
	folder    bool
	attr      uint32
}

// headerReader reads a header; the first mistake stays.
type headerReader struct {
	b   []byte
	err error
}

func (h *headerReader) fail() { h.err = errHeader; h.b = nil }

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

// number reads a 7z number: leading ones of the first byte count the bytes
// that follow, its other bits are the highest.
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

// count reads a number of things that follow; each needs room in the header.
func (h *headerReader) count() int {
	n := h.number()
	if n > maxHeaderItems {
		h.fail()
		return 0
	}
	return int(n)
}

func (h *headerReader) size() int64 {
	n := h.number()
	if n > 1<<62 {
		h.fail()
		return 0
	}
	return int64(n)
}

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

// optionalBits reads bits, or one byte that says that all are set, each for
// four bytes that follow.
func (h *headerReader) optionalBits(n int) []bool {
	if h.byte() == 0 {
		return h.bits(n)
	}
	if n > len(h.b)/4 {
		h.fail()
		return nil
	}
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	return out
}

// digests reads checksums and gives each to set.
func (h *headerReader) digests(n int, set func(i int, crc uint32)) {
	for i, defined := range h.optionalBits(n) {
		if defined {
			if b := h.take(4); b != nil {
				set(i, binary.LittleEndian.Uint32(b))
			}
		}
	}
}

// streams reads a streams info up to its end mark.
func (h *headerReader) streams() (s szStreams) {
	sub := false
	for h.err == nil {
		switch h.byte() {
		case idEnd:
			if !sub {
				s.wholeFolders()
			}
			return s
		case idPackInfo:
			h.packInfo(&s)
		case idUnpackInfo:
			h.unpackInfo(&s)
		case idSubStreams:
			h.subStreams(&s)
			sub = true
		default:
			h.fail()
		}
	}
	return s
}

// wholeFolders makes every folder one stream.
func (s *szStreams) wholeFolders() {
	for i := range s.folders {
		f := &s.folders[i]
		f.streams = []szStream{{f.size(), f.crc, f.hasCRC}}
	}
}

func (h *headerReader) packInfo(s *szStreams) {
	s.packPos = h.size()
	n := h.count()
	for h.err == nil {
		switch h.byte() {
		case idEnd:
			return
		case idSize:
			for range n {
				s.packSizes = append(s.packSizes, h.size())
				if h.err != nil {
					return
				}
			}
		case idCRC:
			h.digests(n, func(int, uint32) {})
		default:
			h.fail()
		}
	}
}

func (h *headerReader) unpackInfo(s *szStreams) {
	if h.byte() != idFolder {
		h.fail()
		return
	}
	n := h.count()
	if h.byte() != 0 {
		h.fail()
	}
	for i := 0; i < n && h.err == nil; i++ {
		s.folders = append(s.folders, h.folder())
	}
	if h.byte() != idCodersSize {
		h.fail()
	}
	for i := range s.folders {
		for range s.folders[i].coders {
			s.folders[i].sizes = append(s.folders[i].sizes, h.size())
		}
	}
	for h.err == nil {
		switch h.byte() {
		case idEnd:
			return
		case idCRC:
			h.digests(len(s.folders), func(i int, crc uint32) { s.folders[i].crc, s.folders[i].hasCRC = crc, true })
		default:
			h.fail()
		}
	}
}

// folder reads a chain of coders with one input and one output each.
func (h *headerReader) folder() (f szFolder) {
	n := h.count()
	if n < 1 || n > 8 {
		h.fail()
		return f
	}
	for range n {
		flags := h.byte()
		c := szCoder{method: string(h.take(int(flags & 15)))}
		ins, outs := uint64(1), uint64(1)
		if flags&0x10 != 0 {
			ins, outs = h.number(), h.number()
		}
		if ins != 1 || outs != 1 || flags&0xc0 != 0 {
			h.fail()
		}
		if flags&0x20 != 0 {
			c.props = h.take(h.count())
		}
		f.coders = append(f.coders, c)
	}
	feeds := map[int]int{}
	fed := map[int]bool{}
	for range n - 1 {
		in, out := h.count(), h.count()
		feeds[out], fed[in] = in, true
	}
	for first := range n {
		if !fed[first] {
			f.order = append(f.order, first)
			break
		}
	}
	for h.err == nil && len(f.order) < n {
		if len(f.order) == 0 {
			h.fail()
			break
		}
		next, ok := feeds[f.order[len(f.order)-1]]
		if !ok || next >= n {
			h.fail()
			break
		}
		f.order = append(f.order, next)
	}
	return f
}

func (h *headerReader) subStreams(s *szStreams) {
	for i := range s.folders {
		s.folders[i].streams = make([]szStream, 1)
	}
	id := h.byte()
	if id == idNumStreams {
		total := 0
		for i := range s.folders {
			n := h.count()
			if total += n; n > len(h.b)+1 || total > maxHeaderItems {
				h.fail()
				return
			}
			s.folders[i].streams = make([]szStream, n)
		}
		id = h.byte()
	}
	h.subSizes(s, id == idSize)
	if id == idSize {
		id = h.byte()
	}
	for h.err == nil && id != idEnd {
		if id != idCRC {
			h.fail()
			return
		}
		var open []*szStream
		for i := range s.folders {
			f := &s.folders[i]
			if len(f.streams) == 1 && f.hasCRC {
				f.streams[0].crc, f.streams[0].hasCRC = f.crc, true
				continue
			}
			for k := range f.streams {
				open = append(open, &f.streams[k])
			}
		}
		h.digests(len(open), func(i int, crc uint32) { open[i].crc, open[i].hasCRC = crc, true })
		id = h.byte()
	}
}

// subSizes reads the sizes of all streams of each folder but the last, which
// follows from the folder's size.
func (h *headerReader) subSizes(s *szStreams, given bool) {
	for i := range s.folders {
		f := &s.folders[i]
		left := f.size()
		for k := range f.streams {
			if k == len(f.streams)-1 {
				f.streams[k].size = left
				continue
			}
			if !given {
				h.fail()
				return
			}
			f.streams[k].size = h.size()
			left -= f.streams[k].size
		}
		if left < 0 {
			h.fail()
		}
	}
}
