package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// jsonReader reads objects as rows, whose columns are the keys: one a line, or
// the items of one array.
type jsonReader struct {
	in     *counter
	dec    *json.Decoder
	lines  bool
	opened bool
	header []string
	place  map[string]int
	data   []byte
	row    [][]byte
}

// counter counts the line ends of what passes and remembers its last byte. It
// gives out at most left bytes.
type counter struct {
	r       io.Reader
	ends    lineEnds
	last    byte
	started bool
	left    int64
}

func (c *counter) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("%w: a record is too long", errNotTable)
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	for _, b := range p[:n] {
		if b == '\n' && c.last == '\r' {
			c.ends.crlf++
		} else if b == '\n' {
			c.ends.lf++
		}
		c.last, c.started = b, true
	}
	return n, err
}

func newJSON(r io.Reader, lines bool) *jsonReader {
	in := &counter{r: r, left: MaxRecord}
	j := &jsonReader{in: in, dec: json.NewDecoder(in), lines: lines, place: map[string]int{}}
	j.dec.UseNumber()
	return j
}

func (j *jsonReader) names() []string { return j.header }

func (j *jsonReader) form() Form {
	return Form{LineEnds: j.in.ends.String(), Unterminated: j.in.started && j.in.last != '\n'}
}

func (j *jsonReader) next() ([][]byte, error) {
	j.in.left = MaxRecord
	if err := j.enter(); err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	err := j.dec.Decode(&object)
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case err == io.EOF:
		return nil, io.EOF
	case errors.As(err, &syntax) || errors.As(err, &wrong) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: %w", errNotTable, err)
	case err != nil:
		return nil, err
	}
	return j.cells(object)
}

// enter passes over the brackets of an array.
func (j *jsonReader) enter() error {
	if j.lines {
		return nil
	}
	if !j.opened {
		if t, err := j.dec.Token(); err != nil || t != json.Delim('[') {
			return fmt.Errorf("%w: no array of objects", errNotTable)
		}
		j.opened = true
	}
	if j.dec.More() {
		return nil
	}
	if _, err := j.dec.Token(); err != nil {
		return fmt.Errorf("%w: %w", errNotTable, err)
	}
	if _, err := io.Copy(io.Discard, j.in); err != nil {
		return err
	}
	return io.EOF
}

func (j *jsonReader) cells(object map[string]json.RawMessage) ([][]byte, error) {
	j.data = j.data[:0]
	for len(j.row) < len(j.header) {
		j.row = append(j.row, nil)
	}
	clear(j.row)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at, ok := j.place[key]
		if !ok {
			at = len(j.header)
			if at == MaxColumns {
				return nil, fmt.Errorf("%w: too many keys", errNotTable)
			}
			j.place[key], j.header = at, append(j.header, key)
			j.row = append(j.row, nil)
		}
		start := len(j.data)
		j.data = appendJSON(j.data, object[key])
		j.row[at] = j.data[start:len(j.data):len(j.data)]
	}
	return j.row, nil
}

// appendJSON writes a value in one spelling: no blanks, keys sorted. Texts
// keep their quotes, so that "1" is not 1.
func appendJSON(dst []byte, raw json.RawMessage) []byte {
	if raw[0] != '{' && raw[0] != '[' && raw[0] != '"' {
		return append(dst, raw...)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return append(dst, raw...)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return append(dst, raw...)
	}
	return append(dst, text...)
}
