package compare

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// csvReader splits CSV as pandas does: a quote counts at the start of a field
// only, empty lines are passed over.
type csvReader struct {
	r     io.Reader
	buf   []byte
	rest  []byte // of buf, not yet read
	eof   bool
	comma byte

	header []string
	shape  Form
	ends   lineEnds
	data   []byte // the record's cells, one after the other
	stops  []int  // where each ends in data
	row    [][]byte
}

func newCSV(r io.Reader, comma byte) (*csvReader, error) {
	c := &csvReader{r: r, buf: make([]byte, 0, 1<<16), comma: comma}
	if err := c.skipMark(); err != nil {
		return nil, err
	}
	cells, err := c.record()
	if err == io.EOF {
		return c, nil
	}
	seen := map[string]int{}
	for _, cell := range cells {
		name := string(cell)
		if seen[name]++; seen[name] > 1 {
			name += " (" + strconv.Itoa(seen[name]) + ")"
		}
		c.header = append(c.header, name)
	}
	return c, err
}

// skipMark passes over a byte order mark.
func (c *csvReader) skipMark() error {
	c.buf = c.buf[:3]
	n, err := io.ReadFull(c.r, c.buf)
	c.rest = c.buf[:n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		c.eof, err = true, nil
	}
	if bytes.Equal(c.rest, []byte("\xef\xbb\xbf")) {
		c.shape.BOM, c.rest = true, nil
	}
	return err
}

func (c *csvReader) names() []string { return c.header }

func (c *csvReader) form() Form {
	f := c.shape
	f.LineEnds = c.ends.String()
	return f
}

func (c *csvReader) next() ([][]byte, error) {
	row, err := c.record()
	for err == nil && len(c.header) < len(row) {
		c.header = append(c.header, fmt.Sprintf("(column %d)", len(c.header)+1))
	}
	for err == nil && len(row) < len(c.header) {
		row = append(row, nil)
	}
	c.row = row
	return row, err
}

// fill reads more; false at the end of the file.
func (c *csvReader) fill() (bool, error) {
	for len(c.rest) == 0 && !c.eof {
		n, err := c.r.Read(c.buf[:cap(c.buf)])
		c.rest = c.buf[:n]
		if err == io.EOF {
			c.eof = true
		} else if err != nil {
			return false, err
		}
	}
	return len(c.rest) > 0, nil
}

// record reads the next line that is not empty.
func (c *csvReader) record() ([][]byte, error) {
	for {
		c.data, c.stops = c.data[:0], c.stops[:0]
		quoted, ended, err := c.fields()
		if err != nil {
			return nil, err
		}
		if len(c.data) == 0 && len(c.stops) == 1 && !quoted {
			if !ended {
				return nil, io.EOF
			}
			c.shape.Blank++
			continue
		}
		c.shape.Unterminated = !ended
		return c.cells(), nil
	}
}

func (c *csvReader) cells() [][]byte {
	row, start := c.row[:0], 0
	for _, stop := range c.stops {
		row = append(row, c.data[start:stop:stop])
		start = stop
	}
	c.row = row
	return row
}

// fields reads to the end of a line. It says whether a field was quoted and
// whether the line had an end.
func (c *csvReader) fields() (quoted, ended bool, err error) {
	for {
		inQuotes, err := c.opening()
		if err != nil {
			return quoted, false, err
		}
		if inQuotes {
			quoted = true
			c.shape.Quoted++
			if err := c.quotedPart(); err != nil {
				return quoted, false, err
			}
		}
		end, err := c.plainPart()
		if err != nil {
			return quoted, false, err
		}
		c.stops = append(c.stops, len(c.data))
		if len(c.data) > MaxRecord || len(c.stops) > MaxColumns {
			return quoted, false, fmt.Errorf("%w: a record is too long", errNotTable)
		}
		switch end {
		case 0:
			return quoted, false, nil
		case c.comma:
			continue
		case '\n':
			c.ends.lf++
			return quoted, true, nil
		}
		return quoted, true, c.afterCR()
	}
}

// opening passes over a quote at the start of a field.
func (c *csvReader) opening() (bool, error) {
	more, err := c.fill()
	if !more || c.rest[0] != '"' {
		return false, err
	}
	c.rest = c.rest[1:]
	return true, nil
}

// quotedPart reads to the closing quote.
func (c *csvReader) quotedPart() error {
	for {
		if more, err := c.fill(); !more {
			return err
		}
		n := bytes.IndexByte(c.rest, '"')
		if n < 0 {
			n = len(c.rest)
		}
		c.data = append(c.data, c.rest[:n]...)
		if len(c.data) > MaxRecord {
			return fmt.Errorf("%w: a record is too long", errNotTable)
		}
		if c.rest = c.rest[n:]; len(c.rest) == 0 {
			continue
		}
		c.rest = c.rest[1:]
		if twice, err := c.opening(); err != nil || !twice {
			return err
		}
		c.data = append(c.data, '"')
	}
}

// plainPart reads to what ends a field, and returns it: a separator, a line
// feed, a carriage return, or 0 at the end of the file.
func (c *csvReader) plainPart() (byte, error) {
	for {
		if more, err := c.fill(); !more {
			return 0, err
		}
		for i, b := range c.rest {
			if b == c.comma || b == '\n' || b == '\r' {
				c.data = append(c.data, c.rest[:i]...)
				c.rest = c.rest[i+1:]
				return b, nil
			}
		}
		c.data = append(c.data, c.rest...)
		c.rest = nil
		if len(c.data) > MaxRecord {
			return 0, fmt.Errorf("%w: a record is too long", errNotTable)
		}
	}
}

// afterCR passes over the line feed after a carriage return.
func (c *csvReader) afterCR() error {
	more, err := c.fill()
	if more && c.rest[0] == '\n' {
		c.rest = c.rest[1:]
		c.ends.crlf++
		return err
	}
	c.ends.cr++
	return err
}
