package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// splitter cuts a stream into pieces of whole records.
type splitter struct {
	dialect
	r      io.Reader
	buf    []byte // bytes read and not yet given out
	eof    bool
	lines  int   // lines given out
	at     int64 // bytes given out
	size   int   // how long the next piece will be, once there is enough to tell
	first  int   // how long the first record is
	pieces bool
	free   chan []byte
}

// piece is a run of whole records.
type piece struct {
	raw       []byte
	rows      int
	firstLine int   // lines before it
	at        int64 // bytes before it
	simple    bool  // raw holds no carriage return and no quote that is one
}

const (
	firstRead = 1 << 14
	readSize  = 1 << 20
	skipBytes = 1 << 12
	wordBytes = 8 // that can be read behind a piece
	maxRecord = math.MaxInt32 - readSize
	// maxPresized bounds the memory that is taken for records that are only expected.
	maxPresized = 1 << 26
)

var errLongRecord = errors.New("a record is longer than 2 GiB")

func newSplitter(r io.Reader, d dialect) (*splitter, error) {
	s := &splitter{dialect: d, r: r, free: make(chan []byte, 16)}
	for len(s.buf) < 3 && !s.eof {
		if err := s.fill(0); err != nil {
			return nil, err
		}
	}
	if after, ok := bytes.CutPrefix(s.buf, []byte("\xef\xbb\xbf")); ok {
		s.buf, s.at = after, 3
	}
	return s, nil
}

// fill reads more bytes, at least as many as the unfinished record has so
// that looking at a long record again and again stays cheap.
func (s *splitter) fill(unfinished int) error {
	most := readSize
	if s.pieces {
		most = pieceRead
	}
	want := max(firstRead, min(most, 8*len(s.buf)), unfinished)
	if cap(s.buf)-len(s.buf) < want+wordBytes {
		grown := make([]byte, len(s.buf), max(2*len(s.buf), s.size)+want+wordBytes)
		copy(grown, s.buf)
		s.buf = grown
	}
	n, err := io.ReadFull(s.r, s.buf[len(s.buf):len(s.buf)+want])
	s.buf = s.buf[:len(s.buf)+n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		for s.eof = true; s.pieces && bytes.HasSuffix(s.buf, []byte("\n\n")); { // blank lines are no records
			s.buf = s.buf[:len(s.buf)-1]
		}
		return nil
	}
	return err
}

// next returns the next piece of at most rows records; one without records
// marks the end.
func (s *splitter) next(rows int) (piece, error) {
	p := piece{firstLine: s.lines, at: s.at}
	scan := scanner{dialect: s.dialect}
	for {
		scan.raw, scan.eof = s.buf, s.eof
		if s.pieces {
			scan.skip(rows)
		}
		scan.run(rows)
		if scan.rows == rows || s.eof {
			break
		}
		if len(s.buf)-scan.pos > maxRecord {
			return p, fmt.Errorf("line %d: %w", s.lines+scan.lines+1, errLongRecord)
		}
		if scan.rows > 0 && scan.pos >= readSize {
			s.size = min(scan.pos/scan.rows*rows, maxPresized)
		}
		if err := s.fill(len(s.buf) - scan.pos); err != nil {
			return p, err
		}
	}
	s.lines += scan.lines
	p.rows, p.simple = scan.rows, !scan.odd
	p.raw = s.cut(scan.pos)
	return p, nil
}

// cut takes the first n bytes off the buffer.
func (s *splitter) cut(n int) []byte {
	s.at += int64(n)
	raw, rest := s.buf[:n], s.buf[n:]
	var fresh []byte
	select {
	case fresh = <-s.free:
	default:
	}
	if cap(fresh) < len(rest) || cap(fresh) < cap(s.buf) && !s.eof {
		fresh = make([]byte, 0, max(len(rest), cap(s.buf)))
	}
	s.buf = append(fresh[:0], rest...)
	return raw
}

// recycle hands a piece's bytes back for reuse.
func (s *splitter) recycle(raw []byte) {
	select {
	case s.free <- raw:
	default:
	}
}

// scanner counts records. It stops before a record that raw may not hold in
// full.
type scanner struct {
	dialect
	raw       []byte
	eof       bool
	pos       int
	rows      int
	lines     int
	nextQuote int // first quote at or after pos, if beyond pos
	nextCR    int
	odd       bool // there was a quote or a carriage return
}

// skip passes lines many at a time, as far as no quote and no carriage return is
// among them, and takes each for a record.
func (s *scanner) skip(rows int) {
	s.nextQuote, s.nextCR = -1, -1
	for {
		s.nextQuote, s.nextCR = s.upcoming(s.quote, s.nextQuote), s.upcoming('\r', s.nextCR)
		some := s.raw[s.pos:min(s.pos+skipBytes, s.nextQuote, s.nextCR)]
		n := bytes.Count(some, []byte{'\n'})
		if n == 0 || s.rows+n > rows {
			return
		}
		s.pos += bytes.LastIndexByte(some, '\n') + 1
		s.rows, s.lines = s.rows+n, s.lines+n
	}
}

// run passes records until there are rows of them or raw ends.
func (s *scanner) run(rows int) {
	s.nextQuote, s.nextCR = -1, -1
	for s.rows < rows && s.pos < len(s.raw) {
		if s.raw[s.pos] <= ' ' {
			next, blank, more := s.blankLine(s.raw, s.pos, s.eof)
			if more {
				return
			}
			if blank {
				s.odd = s.odd || bytes.IndexByte(s.raw[s.pos:next], '\r') >= 0
				s.pos = next
				s.lines++
				continue
			}
		}
		end := s.recordEnd()
		if end < 0 {
			return
		}
		s.pos = end
		s.rows++
		s.lines++
	}
}

func (s *scanner) upcoming(c byte, known int) int {
	if known >= s.pos {
		return known
	}
	if i := indexByte(s.raw[s.pos:], c); i >= 0 {
		return s.pos + i
	}
	return len(s.raw)
}

// recordEnd returns where the record at pos ends, -1 if raw does not tell.
func (s *scanner) recordEnd() int {
	s.nextCR = s.upcoming('\r', s.nextCR)
	if s.quote != 0 {
		s.nextQuote = s.upcoming(s.quote, s.nextQuote)
	} else {
		s.nextQuote = len(s.raw)
	}
	end := min(s.nextCR, s.nextQuote)
	if nl := indexByte(s.raw[s.pos:end], '\n'); nl >= 0 {
		return s.pos + nl + 1
	}
	s.odd = s.odd || end < len(s.raw)
	if end == len(s.raw) {
		return s.atEnd()
	}
	if s.raw[end] == '\r' {
		return s.afterCR(end + 1)
	}
	return s.quotedRecord()
}

// atEnd ends a record that goes to the end of raw.
func (s *scanner) atEnd() int {
	if s.eof {
		return len(s.raw)
	}
	return -1
}

func (s *scanner) afterCR(i int) int {
	if i == len(s.raw) {
		return s.atEnd()
	}
	if s.raw[i] == '\n' {
		return i + 1
	}
	return i
}

// quotedRecord is recordEnd for records with quotes.
func (s *scanner) quotedRecord() int {
	for i := s.pos; i < len(s.raw); i++ {
		if s.raw[i] == s.quote {
			if i = s.closing(i + 1); i < 0 {
				break
			}
		}
		if i = s.fieldEnd(s.raw, i); i == len(s.raw) {
			break
		}
		switch s.raw[i] {
		case s.comma:
		case '\r':
			return s.afterCR(i + 1)
		default:
			return i + 1
		}
	}
	return s.atEnd()
}

// closing returns the place after the closing quote of a field whose text
// starts at i, -1 if there is none or raw ends with it.
func (s *scanner) closing(i int) int {
	for {
		n := indexByte(s.raw[i:], s.quote)
		if n < 0 {
			return -1
		}
		i += n + 1
		if i == len(s.raw) {
			if s.eof {
				return i
			}
			return -1
		}
		if s.raw[i] != s.quote {
			return i
		}
		i++
	}
}
