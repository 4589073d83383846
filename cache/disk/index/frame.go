package index

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"hash/fnv"

	"github.com/mleflow/mleflow/cache/digest"
)

// logHeader starts the index log and carries its version.
const logHeader = "mleflow index 1\n"

// The types of frames in the index log.
const (
	frameRecord = 'r' // payload: a record
	frameDrop   = 'd' // payload: why the record was dropped
	frameUses   = 'u' // payload: the digests of actions that were used
)

// A frame is one line:
//
//	r <action> <address hash> <unix ms> <payload length> <crc> <payload>
//
// with every field before the payload at a fixed place, so that a scan only
// looks there. The checksum covers everything before it and the payload.
const (
	frameIDAt      = 2
	frameAddressAt = frameIDAt + 2*digest.Size + 1
	frameTimeAt    = frameAddressAt + 16 + 1
	frameLengthAt  = frameTimeAt + 16 + 1
	frameCRCAt     = frameLengthAt + 8 + 1
	framePayloadAt = frameCRCAt + 8 + 1
	// maxPayload limits the size of a record; a larger one is refused when it is
	// written.
	maxPayload = 64 << 20
)

// frame is one entry of the index log.
type frame struct {
	kind    byte
	id      digest.ActionID
	address uint64 // hash of the address
	millis  int64
	payload []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// addressHash returns the hash that stands for an address in a frame.
func addressHash(address string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(address))
	return h.Sum64()
}

// append appends the line of f.
func (f frame) append(buf []byte) []byte {
	start := len(buf)
	buf = append(buf, f.kind, ' ')
	buf = hex.AppendEncode(buf, f.id[:])
	buf = fmt.Appendf(buf, " %016x %016x %08x ", f.address, uint64(f.millis), len(f.payload))
	sum := crc32.Update(crc32.Checksum(buf[start:], castagnoli), castagnoli, f.payload)
	buf = append(fmt.Appendf(buf, "%08x ", sum), f.payload...)
	return append(buf, '\n')
}

// parseFrame reads the frame at the start of data and returns its length in
// bytes, or 0 if there is no complete and valid frame. The payload aliases
// data.
func parseFrame(data []byte) (frame, int) {
	var f frame
	if len(data) <= framePayloadAt {
		return f, 0
	}
	f.kind = data[0]
	if !isFrameKind(f.kind) {
		return f, 0
	}
	for _, at := range [...]int{1, frameAddressAt - 1, frameTimeAt - 1, frameLengthAt - 1, frameCRCAt - 1, framePayloadAt - 1} {
		if data[at] != ' ' {
			return f, 0
		}
	}
	length, ok := parseHex(data[frameLengthAt : frameLengthAt+8])
	end := framePayloadAt + int(length)
	if !ok || length > maxPayload || end >= len(data) || data[end] != '\n' {
		return f, 0
	}
	sum, ok := parseHex(data[frameCRCAt : frameCRCAt+8])
	f.payload = data[framePayloadAt:end:end]
	if !ok || crc32.Update(crc32.Checksum(data[:frameCRCAt], castagnoli), castagnoli, f.payload) != uint32(sum) {
		return f, 0
	}
	return f, f.parseHeader(data, end+1)
}

// parseHeader reads the fields, which the checksum has verified, and returns n,
// or 0 if they are not numbers.
func (f *frame) parseHeader(data []byte, n int) int {
	address, ok1 := parseHex(data[frameAddressAt : frameAddressAt+16])
	millis, ok2 := parseHex(data[frameTimeAt : frameTimeAt+16])
	_, err := hex.Decode(f.id[:], data[frameIDAt:frameIDAt+2*digest.Size])
	if !ok1 || !ok2 || err != nil {
		return 0
	}
	f.address, f.millis = address, int64(millis)
	return n
}

// parseHex reads a hexadecimal number of up to 16 digits.
func parseHex(b []byte) (uint64, bool) {
	var v uint64
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint64(c)
	}
	return v, true
}

// scanFrames calls fn for every frame from the offset from on. It returns the
// offset after the last valid frame, and the number of bytes before it that
// belong to no frame. Such bytes come from a writer that died half-way, and are
// skipped. Invalid bytes at the end may be a frame that is still being written,
// and are left for the next scan.
func scanFrames(data []byte, from int, fn func(f frame, at, n int)) (end, bad int) {
	for at := from; at < len(data); {
		f, n := parseFrame(data[at:])
		if n == 0 {
			skip := nextFrame(data[at:])
			if skip == 0 {
				return at, bad
			}
			bad += skip
			at += skip
			continue
		}
		fn(f, at, n)
		at += n
		from = at
	}
	return from, bad
}

// nextFrame returns the distance to the next frame, or 0 if there is none. It
// does not search for a line feed, which may itself be damaged.
func nextFrame(data []byte) int {
	for at := 1; ; at++ {
		i := bytes.IndexByte(data[min(at+1, len(data)):], ' ')
		if i < 0 {
			return 0
		}
		at += i
		if _, n := parseFrame(data[at:]); n > 0 {
			return at
		}
	}
}

// torn reports whether gap, the bytes between two frames, has only beginnings of
// frames, each ended by the line feed of the next writer. Writers that are killed
// or find the disk full leave these. Other bytes were written whole and damaged
// later.
func torn(gap []byte) bool {
	for at := 0; at < len(gap); {
		next := at + 1
		for next < len(gap) && (gap[next-1] != '\n' || !mayStartFrame(gap[next:])) {
			next++
		}
		if !tornFrame(bytes.TrimSuffix(gap[at:next], []byte{'\n'})) {
			return false
		}
		at = next
	}
	return true
}

// mayStartFrame reports whether data, which is not empty, can be the beginning
// of a frame of which as little as the first byte was written.
func mayStartFrame(data []byte) bool {
	return isFrameKind(data[0]) && (len(data) == 1 || data[1] == ' ' || data[1] == '\n')
}

func isFrameKind(c byte) bool {
	return c == frameRecord || c == frameDrop || c == frameUses
}

// tornFrame reports whether data is the beginning of a frame and not all of it.
func tornFrame(data []byte) bool {
	if len(data) == 0 {
		return true
	}
	if !isFrameKind(data[0]) {
		return false
	}
	if len(data) < framePayloadAt {
		// All of a header is printable, so that a line feed in it was not written.
		return bytes.IndexByte(data, '\n') < 0
	}
	if _, n := parseFrame(append(data[:len(data):len(data)], '\n')); n > 0 {
		return true // only the line feed is missing
	}
	payload := data[framePayloadAt:]
	length, ok := parseHex(data[frameLengthAt : frameLengthAt+8])
	if !ok || length > maxPayload || uint64(len(payload)) >= length {
		return false
	}
	// If only the length is wrong, the payload is complete.
	_, err := decodeRecord(digest.ActionID{}, payload)
	return data[0] != frameRecord || err != nil
}
