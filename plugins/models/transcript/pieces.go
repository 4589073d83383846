package transcript

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/mleflow/mleflow/cache/nolink"
)

const (
	// Pieces shorter than short are stored again if that keeps a body in one
	// range.
	short = 256
	// known bounds the number of remembered pieces. Beyond it all are
	// forgotten, and each conversation is stored once more.
	known = 1 << 17
	// mostRanges bounds the ranges of one body. The last range holds the rest.
	mostRanges = 1 << 16
)

// file is a file of bodies that is only appended to.
type file struct {
	*os.File
	size int64
}

// openFile opens a file and truncates it to keep bytes. The file is shorter
// only after a machine failure; later writes then leave the lost range unused.
func openFile(path string, keep int64) (*file, error) {
	f, err := nolink.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(keep); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &file{f, keep}, nil
}

// add appends data and returns its offset. The next call overwrites a partial
// write.
func (f *file) add(data []byte) (offset int64, err error) {
	if _, err := f.WriteAt(data, f.size); err != nil {
		return 0, err
	}
	offset = f.size
	f.size += int64(len(data))
	return offset, nil
}

// pieces is a file that stores equal pieces once.
type pieces struct {
	*file
	index map[[16]byte]int64
	buf   []byte
}

func newPieces(f *file) *pieces {
	return &pieces{file: f, index: map[[16]byte]int64{}, buf: make([]byte, 32<<10)}
}

// identity returns the key of a piece: half of its SHA-256. A hit is compared
// byte by byte before it is used.
func identity(piece []byte) [16]byte {
	sum := sha256.Sum256(piece)
	return [16]byte(sum[:16])
}

// put stores the new pieces of a body, at most left bytes, and returns the
// body's ranges. ok is false if left is too small.
func (p *pieces) put(body []byte, left int64) (ranges [][2]int64, ok bool, err error) {
	cuts := split(body)
	before, at := p.size, make([]int64, len(cuts))
	// The text around the conversation comes first. The messages of one request
	// are then stored next to those of the previous one.
	for _, grows := range []bool{false, true} {
		next := int64(-1)
		for i, c := range cuts {
			if c.grows != grows {
				next = -1
				continue
			}
			piece := body[c.start:c.end]
			if at[i], err = p.locate(piece, next, before+left); err != nil || at[i] < 0 {
				return nil, false, err
			}
			next = at[i] + int64(len(piece))
		}
	}
	for i, c := range cuts {
		ranges = extend(ranges, at[i], int64(c.end-c.start))
	}
	return ranges, true, nil
}

// locate returns the offset of a piece, preferably next, or appends it. The
// offset is negative if the file would exceed most bytes.
func (p *pieces) locate(piece []byte, next, most int64) (int64, error) {
	if next >= 0 && p.has(piece, next) {
		return next, nil
	}
	id := identity(piece)
	if at, ok := p.index[id]; ok && (next != p.size || len(piece) >= short) && p.has(piece, at) {
		return at, nil
	}
	if int64(len(piece)) > most-p.size {
		return -1, nil
	}
	at, err := p.add(piece)
	if err == nil {
		p.remember(id, at)
	}
	return at, err
}

func (p *pieces) remember(id [16]byte, at int64) {
	if len(p.index) >= known {
		clear(p.index)
	}
	p.index[id] = at
}

// has reports whether a piece is at an offset.
func (p *pieces) has(piece []byte, at int64) bool {
	if at+int64(len(piece)) > p.size {
		return false
	}
	for len(piece) > 0 {
		n := min(len(piece), len(p.buf))
		if _, err := p.ReadAt(p.buf[:n], at); err != nil || !bytes.Equal(p.buf[:n], piece[:n]) {
			return false
		}
		piece, at = piece[n:], at+int64(n)
	}
	return true
}

// learn remembers the pieces of a body that is already stored.
func (p *pieces) learn(body []byte, ranges [][2]int64) error {
	start, i := 0, 0
	for _, c := range split(body) {
		for i < len(ranges) && c.start >= start+int(ranges[i][1]) {
			start += int(ranges[i][1])
			i++
		}
		if i == len(ranges) {
			return fmt.Errorf("a body is longer than its %d ranges", len(ranges))
		}
		if c.end <= start+int(ranges[i][1]) {
			p.remember(identity(body[c.start:c.end]), ranges[i][0]+int64(c.start-start))
		}
	}
	return nil
}

// extend appends a range, or extends the last one if it ends at this offset.
func extend(ranges [][2]int64, at, length int64) [][2]int64 {
	if n := len(ranges); n > 0 && ranges[n-1][0]+ranges[n-1][1] == at {
		ranges[n-1][1] += length
		return ranges
	}
	return append(ranges, [2]int64{at, length})
}
