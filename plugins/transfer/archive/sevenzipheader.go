package archive

import (
	"cmp"
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

// count reads the number of elements that follow; each takes at least one byte
// of the header.
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
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	return out
}

// digests reads checksums and passes each to set.
func (h *headerReader) digests(n int, set func(i int, crc uint32)) {
	for i, defined := range h.optionalBits(n) {
		if defined {
			if b := h.take(4); b != nil {
				set(i, binary.LittleEndian.Uint32(b))
			}
		}
	}
}
