package archive

import "bytes"

// szSpec is how a folder is compressed. Most folders of an archive share one.
type szSpec struct {
	coders []szCoder
	// order lists the coders from the packed bytes to the plain ones.
	order []int
}

// maxSpecs limits how many ways of compression an archive may mix.
const maxSpecs = 1024

// szFolder is a compressed sequence of bytes that contains one or more files.
type szFolder struct {
	spec *szSpec
	// sizes is the index of the sizes of each coder's output.
	sizes int
	// first and streams are the files in it.
	first, streams int
	crc            uint32
	hasCRC         bool
}

// szStream is a file's bytes inside a folder.
type szStream struct {
	size   int64
	crc    uint32
	hasCRC bool
}

// szStreams holds a header's description of the packed bytes. It takes little more
// memory than the header.
type szStreams struct {
	packPos   int64
	packSizes []int64
	folders   []szFolder
	sizes     []int64 // of the coders' outputs, folder by folder
	streams   []szStream
}

// coderSizes are the sizes of the output of each coder of a folder.
func (s *szStreams) coderSizes(f *szFolder) []int64 {
	return s.sizes[f.sizes : f.sizes+len(f.spec.coders)]
}

// size is that of a folder's plain bytes.
func (s *szStreams) size(f *szFolder) int64 {
	return s.coderSizes(f)[f.spec.order[len(f.spec.order)-1]]
}

// of are the streams of a folder.
func (s *szStreams) of(f *szFolder) []szStream { return s.streams[f.first : f.first+f.streams] }

// streams reads a streams info up to its end mark.
func (h *headerReader) streams() (s szStreams) {
	sub := false
	h.records(map[byte]func(){
		idPackInfo:   func() { h.packInfo(&s) },
		idUnpackInfo: func() { h.unpackInfo(&s) },
		idSubStreams: func() { h.subStreams(&s); sub = true },
	})
	if !sub && h.err == nil {
		s.wholeFolders()
	}
	return s
}

// wholeFolders makes every folder one stream.
func (s *szStreams) wholeFolders() {
	s.streams = make([]szStream, len(s.folders))
	for i := range s.folders {
		f := &s.folders[i]
		f.first, f.streams = i, 1
		s.streams[i] = szStream{s.size(f), f.crc, f.hasCRC}
	}
}

func (h *headerReader) packInfo(s *szStreams) {
	s.packPos = h.size()
	n := h.count()
	h.records(map[byte]func(){
		idSize: func() {
			for i := 0; i < n && h.err == nil; i++ {
				s.packSizes = append(s.packSizes, h.size())
			}
		},
		idCRC: func() { h.digests(n, func(int, uint32) {}) },
	})
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
	specs := map[string]*szSpec{}
	for i := 0; i < n && h.err == nil; i++ {
		s.folders = append(s.folders, szFolder{spec: h.spec(specs)})
	}
	if h.byte() != idCodersSize {
		h.fail()
	}
	for i := 0; i < len(s.folders) && h.err == nil; i++ {
		f := &s.folders[i]
		f.sizes = len(s.sizes)
		for range f.spec.coders {
			s.sizes = append(s.sizes, h.size())
		}
	}
	h.records(map[byte]func(){
		idCRC: func() {
			h.digests(len(s.folders), func(i int, crc uint32) { s.folders[i].crc, s.folders[i].hasCRC = crc, true })
		},
	})
}

// spec reads a chain of coders with one input and one output each.
func (h *headerReader) spec(known map[string]*szSpec) *szSpec {
	from := h.b
	spec := h.coders()
	if h.err != nil {
		return nil
	}
	text := string(from[:len(from)-len(h.b)])
	if same := known[text]; same != nil {
		return same
	}
	if known[text] = spec; len(known) > maxSpecs {
		h.fail()
	}
	return spec
}

func (h *headerReader) coders() *szSpec {
	n := h.count()
	if n < 1 || n > 8 {
		h.fail()
		return nil
	}
	spec := &szSpec{}
	for range n {
		flags := h.byte()
		c := szCoder{method: string(h.take(int(flags & 15)))}
		ins, outs := uint64(1), uint64(1)
		if flags&0x10 != 0 {
			ins, outs = h.number(), h.number()
		}
		if c.method == "\x03\x03\x01\x1b" {
			h.failed(errBCJ2)
		}
		if ins != 1 || outs != 1 || flags&0xc0 != 0 {
			h.fail()
		}
		if flags&0x20 != 0 {
			c.props = bytes.Clone(h.take(h.count()))
		}
		spec.coders = append(spec.coders, c)
	}
	spec.order = h.order(n)
	return spec
}

// order reads how the coders are connected, and returns them from the packed
// bytes to the plain ones.
func (h *headerReader) order(n int) (order []int) {
	feeds := map[int]int{}
	fed := map[int]bool{}
	for range n - 1 {
		in, out := h.count(), h.count()
		feeds[out], fed[in] = in, true
	}
	at := 0
	for fed[at] {
		at++
	}
	for ok := true; h.err == nil && len(order) < n; at, ok = feeds[at] {
		if !ok || at >= n {
			h.fail()
		}
		order = append(order, at)
	}
	return order
}

func (h *headerReader) subStreams(s *szStreams) {
	for i := range s.folders {
		s.folders[i].streams = 1
	}
	id := h.byte()
	if id == idNumStreams {
		for i := range s.folders {
			s.folders[i].streams = h.count()
		}
		id = h.byte()
	}
	total := 0
	for i := range s.folders {
		s.folders[i].first = total
		total += s.folders[i].streams
		// The header has the size of every stream of a folder except the last.
		if h.err != nil || total-i-1 > len(h.b) {
			h.fail()
			return
		}
	}
	s.streams = make([]szStream, total)
	h.subSizes(s, id == idSize)
	if id == idSize {
		id = h.byte()
	}
	for h.err == nil && id != idEnd {
		if id != idCRC {
			h.fail()
			return
		}
		h.subDigests(s)
		id = h.byte()
	}
}

// subDigests reads the checksums of all streams except those for which the
// folder's checksum applies.
func (h *headerReader) subDigests(s *szStreams) {
	var open []int32
	for i := range s.folders {
		f := &s.folders[i]
		if f.streams == 1 && f.hasCRC {
			s.streams[f.first].crc, s.streams[f.first].hasCRC = f.crc, true
			continue
		}
		for k := range f.streams {
			open = append(open, int32(f.first+k))
		}
	}
	h.digests(len(open), func(i int, crc uint32) { s.streams[open[i]].crc, s.streams[open[i]].hasCRC = crc, true })
}

// subSizes reads the sizes of all streams of each folder but the last, which
// follows from the folder's size.
func (h *headerReader) subSizes(s *szStreams, given bool) {
	for i := range s.folders {
		f := &s.folders[i]
		left := s.size(f)
		streams := s.of(f)
		for k := range streams {
			if k == len(streams)-1 {
				streams[k].size = left
				continue
			}
			if !given {
				h.fail()
				return
			}
			streams[k].size = h.size()
			left -= streams[k].size
		}
		if left < 0 {
			h.fail()
		}
	}
}
