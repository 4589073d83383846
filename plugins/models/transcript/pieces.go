package transcript

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/data/jsontoken"
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

func newPieces() pieces {
	return pieces{index: map[[16]byte]int64{}, buf: make([]byte, 32<<10)}
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

// longString is the length from which a string becomes a separate piece. A
// message in which only the rest changes, such as a cache marker, then costs
// little.
const longString = 1 << 10

// growing are the arrays with the messages of a conversation.
var growing = []string{"messages", "input", "contents"}

// moving is a member of each request's last message that the next request
// drops. It is a separate piece, so that the pieces around it stay equal.
const moving = `"cache_control"`

// cut is a piece of a body: body[start:end]. grows means that it is part of the
// conversation, not of the text around it that each request repeats.
type cut struct {
	start, end int
	grows      bool
}

// split divides a body where the requests of a conversation share text: at each
// element of a JSON object's arrays, and around long strings. The pieces cover
// the body without gaps. Other bodies may be split anywhere, which affects only
// the size.
func split(body []byte) []cut {
	s := splitter{body: body}
	for t := jsontoken.New(body); t.Next(); {
		switch t.Kind {
		case jsontoken.String, jsontoken.Open:
			s.text(&t.Token)
		case '[':
			if t.Depth == 1 {
				s.end(t.End, false)
				s.array, s.grows = true, slices.Contains(growing, s.key)
			}
		case '}', ']':
			if s.array && t.Depth == 1 {
				s.end(t.Start, s.grows)
				s.array, s.grows = false, false
			}
			if s.marker > 0 && t.Depth <= s.marker {
				s.end(t.End, t.Depth < s.marker)
				s.marker = 0
			}
		case ',':
			if s.array && t.Depth == 2 {
				s.end(t.Start, s.grows)
			}
		}
	}
	if s.last < len(body) {
		s.cuts = append(s.cuts, cut{s.last, len(body), s.grows})
	}
	return s.cuts
}

// splitter is the state of split.
type splitter struct {
	body []byte
	// key is the last string at the top level, and so the name of the array
	// that follows.
	key string
	// array means that the position is inside an array of the top level.
	array, grows bool
	// marker is the depth of the object whose moving member is being read, or
	// 0.
	marker int
	cuts   []cut
	last   int
}

// end ends a piece at a position unless there are too many pieces.
func (s *splitter) end(at int, grows bool) {
	if at > s.last && len(s.cuts) < mostRanges {
		s.cuts = append(s.cuts, cut{s.last, at, grows})
		s.last = at
	}
}

// text reads a string.
func (s *splitter) text(t *jsontoken.Token) {
	text := s.body[t.Start:t.End]
	if t.Depth == 1 {
		s.key = string(text[1:max(1, min(len(text)-1, 32))])
	}
	if s.grows && s.marker == 0 && string(text) == moving {
		s.marker = t.Depth
		s.end(t.Start-1, true) // the comma is before it
	}
	if len(text) >= longString {
		s.end(t.Start, s.grows)
		s.end(t.End, s.grows)
	}
}
