package compare

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The largest tables that are read as such.
const (
	// MaxRecord is the length of a record in bytes.
	MaxRecord = 16 << 20
	// MaxColumns is the number of columns.
	MaxColumns = 1 << 18
)

// errNotTable says why a file is not read as a table.
var errNotTable = errors.New("not read as a table")

// tableFormat returns how to read a file of that name as a table, or "".
func tableFormat(name string) string {
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".csv", ".tsv", ".jsonl", ".json":
		return ext[1:]
	case ".ndjson":
		return "jsonl"
	}
	return ""
}

// IsTable reports whether a file of that name is read as a table.
func IsTable(name string) bool { return tableFormat(name) != "" }

// rows reads a table.
type rows struct {
	// names are the columns met so far; more may come with a row.
	names []string
	in    *counter
	read  func() ([]string, error)
}

func newRows(format string, r io.Reader) (*rows, error) {
	t := &rows{in: &counter{r: r, left: MaxRecord}}
	buffered := bufio.NewReaderSize(t.in, 1<<16)
	switch format {
	case "csv", "tsv":
		return t, t.csv(buffered, format)
	case "json", "jsonl":
		t.json(buffered, format == "jsonl")
		return t, nil
	}
	return nil, fmt.Errorf("%w: it has another suffix", errNotTable)
}

// next returns the cells of the next row, one for each column, io.EOF after the
// last. They are valid until the next call.
func (t *rows) next() ([]string, error) {
	t.in.left = MaxRecord
	row, err := t.read()
	if len(t.names) > MaxColumns {
		return nil, fmt.Errorf("%w: too many columns", errNotTable)
	}
	return row, err
}

func (t *rows) csv(r *bufio.Reader, format string) error {
	if mark, _ := r.Peek(3); string(mark) == "\xef\xbb\xbf" {
		t.in.form.BOM = true
		_, _ = r.Discard(3)
	}
	c := csv.NewReader(r)
	if format == "tsv" {
		c.Comma = '\t'
	}
	c.LazyQuotes, c.FieldsPerRecord, c.ReuseRecord = true, -1, true
	t.read = func() ([]string, error) {
		row, err := c.Read()
		if _, ok := errors.AsType[*csv.ParseError](err); ok {
			err = fmt.Errorf("%w: %w", errNotTable, err)
		}
		for err == nil && len(t.names) < len(row) {
			t.names = append(t.names, fmt.Sprintf("(column %d)", len(t.names)+1))
		}
		for err == nil && len(row) < len(t.names) {
			row = append(row, "")
		}
		return row, err
	}
	header, err := c.Read()
	if err == io.EOF {
		return nil
	}
	seen := map[string]int{}
	for _, name := range header {
		if seen[name]++; seen[name] > 1 {
			name += " (" + strconv.Itoa(seen[name]) + ")"
		}
		t.names = append(t.names, name)
	}
	return err
}

// json reads objects as rows, whose columns are the keys: one a line, or the
// items of one array.
func (t *rows) json(r io.Reader, lines bool) {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	place, opened := map[string]int{}, lines
	t.read = func() ([]string, error) {
		if !opened {
			if at, err := dec.Token(); err != nil || at != json.Delim('[') {
				return nil, fmt.Errorf("%w: it is no array of objects", errNotTable)
			}
			opened = true
		}
		if !lines && !dec.More() {
			if _, err := dec.Token(); err != nil {
				return nil, fmt.Errorf("%w: %w", errNotTable, err)
			}
			return nil, io.EOF
		}
		var object map[string]any
		if err := dec.Decode(&object); err != nil {
			return nil, jsonError(err)
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if _, ok := place[key]; !ok {
				place[key], t.names = len(t.names), append(t.names, key)
			}
		}
		row := make([]string, len(t.names))
		for key, value := range object {
			spelled, err := json.Marshal(value) // no spaces, keys sorted; strings keep their quotes, so that "1" is not 1
			if err != nil {
				return nil, err
			}
			row[place[key]] = string(spelled)
		}
		return row, nil
	}
}

func jsonError(err error) error {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, wrong := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax || wrong || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", errNotTable, err)
	}
	return err
}

// Form describes a table's bytes as far as its reader does not see them.
type Form struct {
	// LineEnds is "LF", "CRLF" or "mixed"; empty without any.
	LineEnds string `json:"line_ends,omitempty"`
	// Unterminated says that the last line has no line end.
	Unterminated bool `json:"unterminated,omitempty"`
	// BOM says that the file begins with a byte order mark.
	BOM bool `json:"bom,omitempty"`
}

// counter counts the line ends of the bytes that pass. It gives out at most left bytes.
type counter struct {
	r        io.Reader
	left     int64
	form     Form
	lf, crlf int64
	last     byte
}

func (c *counter) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("%w: a record is too long", errNotTable)
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	for rest := p[:n]; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			c.last = rest[len(rest)-1]
			break
		}
		if i > 0 {
			c.last = rest[i-1]
		}
		if c.lf++; c.last == '\r' {
			c.crlf++
		}
		c.last, rest = '\n', rest[i+1:]
	}
	return n, err
}

// end returns the form of all that passed.
func (c *counter) end() Form {
	f := c.form
	f.Unterminated = c.last != '\n' && c.last != 0
	switch {
	case c.lf > 0 && c.crlf == 0:
		f.LineEnds = "LF"
	case c.lf > 0 && c.crlf == c.lf:
		f.LineEnds = "CRLF"
	case c.lf > 0:
		f.LineEnds = "mixed"
	}
	return f
}
