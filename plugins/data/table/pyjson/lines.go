package pyjson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Lines reads JSON lines one at a time. Empty lines are skipped.
type Lines struct {
	r      *bufio.Reader
	parser *parser
	line   int
	long   []byte
}

// NewLines returns a reader of JSON lines.
func NewLines(r io.Reader) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 1<<16), parser: newParser()}
}

// Next returns the value of the next line, or io.EOF.
func (l *Lines) Next() (Value, error) {
	for {
		text, err := l.read()
		if err != nil {
			return Value{}, err
		}
		l.line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		v, err := l.parser.parse(text)
		if err != nil {
			return v, fmt.Errorf("read JSON lines: line %d: %w", l.line, err)
		}
		return v, nil
	}
}

// read returns the next line, io.EOF after the last.
func (l *Lines) read() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return part, nil
		}
		l.long = append(l.long, part...)
		switch {
		case err == nil || err == io.EOF && len(l.long) > 0:
			return l.long, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
