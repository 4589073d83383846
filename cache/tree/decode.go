package tree

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// bufferSize holds the longest line: every byte of a name escaped, two numbers
// of 19 digits, a digest and separators are under 700 bytes.
const bufferSize = 16 << 10

// Decoder reads the encoding of a directory entry by entry, in bounded
// memory. It accepts exactly what an Encoder writes.
type Decoder struct {
	r       *bufio.Reader
	last    string
	n       int64
	total   total
	started bool
	err     error
}

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{r: bufio.NewReaderSize(r, bufferSize)}
}

// Next returns the next entry, or io.EOF after the last one. Invalid bytes are
// an error that wraps ErrInvalid; an error of the reader is returned as it is.
func (d *Decoder) Next() (Entry, error) {
	if d.err != nil {
		return Entry{}, d.err
	}
	e, err := d.next()
	d.err = err
	return e, err
}

// Totals returns the bytes and the number of files of the entries so far.
func (d *Decoder) Totals() (size, files int64) { return d.total.size, d.total.files }

func (d *Decoder) next() (Entry, error) {
	if !d.started {
		if err := d.readHeader(); err != nil {
			return Entry{}, err
		}
	}
	line, err := d.readLine()
	if err != nil {
		return Entry{}, err
	}
	e, err := parseEntry(line)
	if err != nil {
		return Entry{}, fmt.Errorf("entry %d: %w", d.n+1, err)
	}
	if d.n > 0 && e.Name <= d.last {
		return Entry{}, fmt.Errorf("entry %d: %w: %q is not after %q", d.n+1, ErrInvalid, e.Name, d.last)
	}
	if !d.total.add(e) {
		return Entry{}, fmt.Errorf("entry %d: %w: the total size overflows", d.n+1, ErrInvalid)
	}
	d.last = e.Name
	d.n++
	return e, nil
}

func (d *Decoder) readHeader() error {
	d.started = true
	line, err := d.readLine()
	if err == nil && string(line)+"\n" == header {
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrInvalid) {
		return err
	}
	return fmt.Errorf("header: %w: not %q", ErrInvalid, strings.TrimSpace(header))
}

// readLine returns the next line without its line feed; io.EOF means that the
// encoding ended at a place where it may.
func (d *Decoder) readLine() ([]byte, error) {
	line, err := d.r.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("entry %d: %w: the line is incomplete", d.n+1, ErrInvalid)
	}
	return nil, err
}

func parseEntry(line []byte) (Entry, error) {
	var e Entry
	if len(line) < 2 || line[1] != ' ' {
		return e, fmt.Errorf("%w: no type", ErrInvalid)
	}
	e.Type = Type(line[0])
	rest := line[2:]
	var err error
	if e.Size, rest, err = parseNumber(rest); err != nil {
		return e, err
	}
	if e.IsDir() {
		if e.Files, rest, err = parseNumber(rest); err != nil {
			return e, err
		}
	}
	if e.ID, rest, err = parseID(rest); err != nil {
		return e, err
	}
	if e.Name, err = parseName(rest); err != nil {
		return e, err
	}
	return e, e.check()
}

// parseNumber reads a canonical decimal number and the space after it.
func parseNumber(b []byte) (int64, []byte, error) {
	i := bytes.IndexByte(b, ' ')
	if i < 1 || i > 19 || (b[0] == '0' && i > 1) || b[0] == '+' || b[0] == '-' {
		return 0, nil, fmt.Errorf("%w: not a canonical number", ErrInvalid)
	}
	n, err := strconv.ParseInt(string(b[:i]), 10, 64)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: number %q", ErrInvalid, b[:i])
	}
	return n, b[i+1:], nil
}

// parseID reads a lower-case digest and the space after it.
func parseID(b []byte) (id digest.ContentID, rest []byte, err error) {
	const n = 2 * digest.Size
	if len(b) < n+1 || b[n] != ' ' {
		return id, nil, fmt.Errorf("%w: no digest", ErrInvalid)
	}
	for _, c := range b[:n] {
		if c >= 'A' && c <= 'F' {
			return id, nil, fmt.Errorf("%w: digest in upper case", ErrInvalid)
		}
	}
	if _, err := hex.Decode(id[:], b[:n]); err != nil {
		return id, nil, fmt.Errorf("%w: digest: %w", ErrInvalid, err)
	}
	return id, b[n+1:], nil
}

func parseName(b []byte) (string, error) {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b), nil
	}
	name := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			name = append(name, b[i])
			continue
		}
		i++
		switch {
		case i < len(b) && b[i] == '\\':
			name = append(name, '\\')
		case i < len(b) && b[i] == 'n':
			name = append(name, '\n')
		default:
			return "", fmt.Errorf("%w: unknown escape in a name", ErrInvalid)
		}
	}
	return string(name), nil
}
