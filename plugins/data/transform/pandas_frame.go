package transform

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
	"github.com/mleflow/mleflow/plugins/data/table/ujson"
)

// frameOptions are the options of pandas_json_lines.
type frameOptions struct {
	Chunk int               `verb:"chunk"`
	Types map[string]string `verb:"types"`
}

var pandasJSONLinesVerb = Verb{
	Name: "pandas_json_lines", Params: []string{"path", "options"},
	Summary: "The records of a file in the raw data, a JSON object per line, with types inferred by column as by pandas. They are read again when they are written.",
	Detail:  `rows.name is a member's column; verbs of records take the rows. Strings that are all numbers become numbers, floats without fractions integers, missing members null. Numbers are read by pandas' arithmetic, not always to the nearest double. Options: chunk (lines whose types are inferred together, all by default), types ({column = "text"}: strings afterwards, as by Python). Names that pandas takes for dates, and names that are all numbers, are errors.`,
	Source:  "pandas.read_json(path, lines=True, chunksize=chunk) (2.2)",
	Func:    openFrame,
}

// Frame are the rows of a file of JSON lines as pandas types them: a Stream.
// It holds the numbers of the rows and their offsets only.
type Frame struct {
	file   *frameFile
	chosen []int32  // nil: all
	names  []string // columns; nil: all
}

// Len implements Rows.
func (f *Frame) Len() int {
	if f.chosen != nil {
		return len(f.chosen)
	}
	return len(f.file.starts)
}

// row returns the number of the line of row i.
func (f *Frame) row(i int) int {
	if f.chosen != nil {
		return int(f.chosen[i])
	}
	return i
}

// Take implements Rows.
func (f *Frame) Take(rows []int) Rows {
	return &Frame{file: f.file, chosen: lists.Of(rows, func(i int) int32 { return int32(f.row(i)) }), names: f.names}
}

// Select implements Stream; the result is a stream.
func (f *Frame) Select(names ...string) (Rows, error) {
	if f.names != nil {
		if err := allAmong(f.names, names); err != nil {
			return nil, err
		}
	}
	return &Frame{file: f.file, chosen: f.chosen, names: names}, nil
}

// Where implements Stream.
func (f *Frame) Where(name string, keep func(table.Value) bool) (Rows, error) {
	return whereCell(f, name, keep)
}

// frameRow is a row that was read, with the columns of its chunk.
type frameRow struct {
	ujson.Record
	columns *ujson.Columns
}

// value returns the row's value of a column.
func (r *frameRow) value(name string) (pyjson.Value, error) { return r.columns.Value(&r.Record, name) }

// read reads rows lo up to hi. A row is good until the next one.
func (f *Frame) read(at io.ReaderAt, lo, hi int) iter.Seq2[*frameRow, error] {
	return func(yield func(*frameRow, error) bool) {
		var r frameRow
		var line []byte
		for i := lo; i < hi; i++ {
			n := f.row(i)
			size := int(f.file.ends[n] - f.file.starts[n])
			line = slices.Grow(line[:0], size)[:size]
			got, err := at.ReadAt(line, f.file.starts[n])
			if got == size {
				err = r.Read(line)
			}
			if err == nil {
				err = f.file.in.Context.Err()
			}
			r.columns = f.file.columns[f.file.chunkOf(n)]
			if err != nil {
				err = fmt.Errorf("%s: line %d: %w", f.file.path, n+1, err)
			}
			if !yield(&r, err) || err != nil {
				return
			}
		}
	}
}

// each calls do for every row in order.
func (f *Frame) each(do func(*frameRow) error) (err error) {
	at, closer, err := f.file.in.openAt(f.file.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	for r, err := range f.read(at, 0, f.Len()) {
		if err == nil {
			err = do(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Column implements Columned; a list or an object is an error.
func (f *Frame) Column(name string) (*table.Column, error) {
	if _, err := f.Select(name); err != nil {
		return nil, err
	}
	cells := make([]table.Value, 0, f.Len())
	err := f.each(func(r *frameRow) error {
		v, err := r.value(name)
		if err != nil {
			return err
		}
		cell, err := JSONCell(v)
		cells = append(cells, cell)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", name, err)
	}
	return table.FromValues(name, cells), nil
}

// Records reads the rows into memory.
func (f *Frame) Records() (Records, error) {
	out := make(Records, 0, f.Len())
	var members []pyjson.Member
	err := f.each(func(r *frameRow) error {
		names := f.names
		if names == nil {
			names = r.columns.Names()
		}
		members = members[:0]
		for _, name := range names {
			v, err := r.value(name)
			if err != nil {
				return err
			}
			members = append(members, pyjson.Member{Name: name, Value: v})
		}
		out = append(out, pyjson.OfObject().WithAll(members...))
		return nil
	})
	return out, err
}

// frameBatch is how many rows are read and spelled at once.
const frameBatch = 32

// writeLines writes the rows as JSON lines.
func (f *Frame) writeLines(w io.Writer) (err error) {
	at, closer, err := f.file.in.openAt(f.file.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	return table.WriteBlocks(w, f.Len(), frameBatch, func(b []byte, lo, hi int) ([]byte, error) {
		for r, err := range f.read(at, lo, hi) {
			if err == nil {
				b, err = r.columns.AppendLine(b, &r.Record, f.names)
			}
			if err != nil {
				return b, err
			}
		}
		return b, nil
	})
}

// frameFile is a file of JSON lines with the places of its lines and the columns
// of every chunk of them.
type frameFile struct {
	in    *Input
	path  string
	chunk int // lines typed together; 0: all

	starts, ends []int64
	columns      []*ujson.Columns
}

// lot is a run of lines of one chunk that are read together.
type lot struct {
	chunk   int
	first   int // number of its first line
	text    []byte
	ends    []int
	columns ujson.Columns
	err     error
}

// lotBytes is how much text a lot holds before it is read.
const lotBytes = 4 << 20

func openFrame(in *Input, path string, o *frameOptions) (_ *Frame, err error) {
	defer reading("pandas_json_lines", path, &err)
	if o.Chunk < 0 {
		return nil, fmt.Errorf("chunk = %d is negative", o.Chunk)
	}
	f := &frameFile{in: in, path: path, chunk: o.Chunk}
	if err := f.scan(); err != nil {
		return nil, err
	}
	for _, c := range f.columns {
		if err := c.Check(); err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(o.Types)) {
			if o.Types[name] != "text" {
				return nil, fmt.Errorf("type %q of column %q: write \"text\"", o.Types[name], name)
			}
			if err := c.Texts(name); err != nil {
				return nil, err
			}
		}
	}
	return &Frame{file: f}, nil
}

// scan finds the lines and types the columns. Several goroutines read the lines;
// the first mistake in the file is reported.
func (f *frameFile) scan() (err error) {
	file, err := f.in.Raw.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lots := func(yield func(*lot) bool) error { return f.lines(file, yield) }
	worker := func() func(*lot) *lot { return (*lot).read }
	return table.InOrder(lots, worker, func(l *lot) error {
		if l.err != nil {
			return l.err
		}
		if l.chunk == len(f.columns) {
			f.columns = append(f.columns, &ujson.Columns{})
		}
		f.columns[l.chunk].Merge(&l.columns)
		return f.in.Context.Err()
	})
}

// lines finds the lines of the file and passes them on in lots, until pass returns false.
func (f *frameFile) lines(file fs.File, pass func(*lot) bool) error {
	r := bufio.NewReaderSize(file, 1<<20)
	at, space := int64(0), int64(lotBytes)
	if info, err := file.Stat(); err == nil {
		space = min(space, info.Size()) + 1<<16
	}
	now := &lot{text: make([]byte, 0, space)}
	for end := false; !end; {
		start := len(now.text)
		size, err := readLine(r, &now.text)
		if end = errors.Is(err, io.EOF); err != nil && !end {
			return err
		}
		if size == 0 {
			break
		}
		line := bytes.TrimFunc(now.text[start:], pytext.IsSpace)
		lead := bytes.Index(now.text[start:], line)
		if err := f.check(line); err != nil {
			return fmt.Errorf("line %d: %w", len(f.starts)+1, err)
		}
		if len(line) > 0 {
			f.starts, f.ends = append(f.starts, at+int64(lead)), append(f.ends, at+int64(lead+len(line)))
			now.ends = append(now.ends, start+copy(now.text[start:], line))
			now.text = now.text[:start+len(line)]
		} else {
			now.text = now.text[:start]
		}
		at += int64(size)
		if next := f.chunkOf(len(f.starts)); next != now.chunk || len(now.text) >= lotBytes {
			if !pass(now) {
				return nil
			}
			now = &lot{chunk: next, first: len(f.starts), text: make([]byte, 0, space)}
		}
	}
	if len(now.ends) > 0 {
		pass(now)
	}
	return nil
}

// readLine appends a line with its end to b and returns its size; io.EOF says
// that it is the last one.
func readLine(r *bufio.Reader, b *[]byte) (size int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		*b = append(*b, part...)
		size += len(part)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return size, err
		}
	}
}

// check refuses lines that would shift the chunks of pandas, which counts lines
// with any line end, empty ones too.
func (f *frameFile) check(line []byte) error {
	switch {
	case len(f.starts) == math.MaxInt32:
		return fmt.Errorf("more than %d lines", math.MaxInt32)
	case f.chunk > 0 && len(line) == 0:
		return errors.New("empty line; with chunk, no line may be empty")
	case f.chunk > 0 && bytes.IndexByte(line, '\r') >= 0:
		return errors.New("carriage return in the line; with chunk, no line may contain one")
	}
	return nil
}

func (f *frameFile) chunkOf(line int) int {
	if f.chunk == 0 {
		return 0
	}
	return line / f.chunk
}

// read reads the lines of the lot and returns it.
func (l *lot) read() *lot {
	var r ujson.Record
	start := 0
	for i, end := range l.ends {
		if err := r.Read(l.text[start:end]); err != nil {
			l.err = fmt.Errorf("line %d: %w", l.first+i+1, err)
			return l
		}
		l.columns.Add(&r)
		start = end
	}
	l.text = nil
	return l
}
