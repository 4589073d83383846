package pyjson

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// window is the part of a string that a parser looks at. Of a string that is
// read from a file it holds the part not parsed yet, a piece at a time.
type window struct {
	data []byte
	pos  int // where the parser is in data

	src     io.Reader // nil: data goes to the end of the text
	first   int       // the size of the first piece
	checked int       // how much of data is known to be UTF-8
	fault   error     // why no more was read, unless the text ended
	line    int       // how many lines were given up before data
	column  int       // how many bytes of the line in which data begins were
}

const (
	// lookahead is the number of bytes in the window where a token begins or ends,
	// enough to recognize it.
	lookahead   = 16
	firstWindow = 1 << 20
)

// more drops the bytes before place keep, which becomes 0, and reads on. It
// reports whether the window may hold more than before.
func (w *window) more(keep int) bool {
	if w.src == nil {
		return false
	}
	dropped := w.data[:keep]
	if i := bytes.LastIndexByte(dropped, '\n'); i >= 0 {
		w.line += bytes.Count(dropped, []byte{'\n'})
		w.column = keep - i - 1
	} else {
		w.column += keep
	}
	rest := w.data[keep:]
	buf := w.data[:cap(w.data)]
	if 2*len(rest) >= len(buf) {
		buf = make([]byte, max(2*len(buf), w.first))
	}
	n := copy(buf, rest)
	got, err := io.ReadAtLeast(w.src, buf[n:], 1)
	w.data, w.pos, w.checked = buf[:n+got], w.pos-keep, max(w.checked-keep, 0)
	if err != nil {
		w.src = nil
		if !errors.Is(err, io.EOF) {
			w.fault = err
		}
	}
	w.check()
	return true
}

// check checks that the new bytes are UTF-8. The text ends before the first that
// is not.
func (w *window) check() {
	end := len(w.data)
	if w.src != nil {
		end -= plain.Unfinished(w.data)
	}
	if w.checked >= end {
		return
	}
	bad := table.InvalidUTF8(w.data[w.checked:end])
	if bad < 0 {
		w.checked = end
		return
	}
	w.checked += bad
	if w.fault == nil {
		w.fault = fmt.Errorf("byte 0x%02x is not UTF-8", w.data[w.checked])
	}
	w.src, w.data = nil, w.data[:w.checked]
}

// short reports whether too little can be seen from where the parser is, and
// sees to it that there is more. The parser is then at place 0.
func (w *window) short(start int) bool {
	if len(w.data)-w.pos >= lookahead || !w.more(start) {
		return false
	}
	w.pos = 0
	return true
}

// place returns the line and the byte where the parser is, both from 1 on.
func (w *window) place() (line, column int) {
	seen := w.data[:w.pos]
	if i := bytes.LastIndexByte(seen, '\n'); i >= 0 {
		return w.line + 1 + bytes.Count(seen, []byte{'\n'}), w.pos - i
	}
	return w.line + 1, w.column + w.pos + 1
}

// ReadLines reads the values of JSON lines. Empty lines are skipped.
func ReadLines(r io.Reader) (values []Value, err error) {
	lines, p := bufio.NewScanner(r), newParser()
	lines.Buffer(make([]byte, 1<<16), math.MaxInt)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		v, err := p.parse(lines.Bytes())
		if err != nil { // of r, if that has failed within the line
			return nil, cmp.Or(lines.Err(), fmt.Errorf("read JSON lines: line %d: %w", n, err))
		}
		values = append(values, v)
	}
	return values, lines.Err()
}
