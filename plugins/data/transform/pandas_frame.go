package transform

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"

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
	Func: func(in *Input, path string, o *frameOptions) (*Frame, error) {
		f, err := openFrame(in, path, o)
		if err != nil {
			return nil, fmt.Errorf("pandas_json_lines %s: %w", path, err)
		}
		return f, nil
	},
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
	chosen := make([]int32, len(rows))
	for i, n := range rows {
		chosen[i] = int32(f.row(n))
	}
	return &Frame{file: f.file, chosen: chosen, names: f.names}
}

// Select implements Stream; the result is a stream.
func (f *Frame) Select(names ...string) (Rows, error) {
	for _, name := range names {
		if f.names != nil && !slices.Contains(f.names, name) {
			return nil, &table.NoColumnError{Name: name, Have: f.names}
		}
	}
	return &Frame{file: f.file, chosen: f.chosen, names: names}, nil
}

// Where implements Stream.
func (f *Frame) Where(name string, keep func(table.Value) bool) (Rows, error) {
	c, err := f.Column(name)
	if err != nil {
		return nil, err
	}
	return f.Take(where(c.Len(), func(i int) bool { return keep(c.Value(i)) })), nil
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
	if f.names != nil && !slices.Contains(f.names, name) {
		return nil, &table.NoColumnError{Name: name, Have: f.names}
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

// batch is the text of some rows.
type batch struct {
	text []byte
	err  error
}

// writeLines writes the rows as JSON lines. Several batches are made at once
// and written in order.
func (f *Frame) writeLines(w io.Writer) (err error) {
	at, closer, err := f.file.in.openAt(f.file.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	queue := make(chan chan batch, runtime.GOMAXPROCS(0))
	stop := make(chan struct{})
	go func() {
		defer close(queue)
		for lo := 0; lo < f.Len(); lo += frameBatch {
			made := make(chan batch, 1)
			select {
			case queue <- made:
			case <-stop:
				return
			}
			go func() { made <- f.batch(at, lo, min(lo+frameBatch, f.Len())) }()
		}
	}()
	for made := range queue {
		b := <-made
		if err == nil {
			err = b.err
		}
		if err == nil {
			_, err = w.Write(b.text)
		}
		if err != nil && stop != nil {
			close(stop)
			stop = nil
		}
	}
	return err
}

func (f *Frame) batch(at io.ReaderAt, lo, hi int) (b batch) {
	size := int64(0)
	for i := lo; i < hi; i++ {
		n := f.row(i)
		size += f.file.ends[n] - f.file.starts[n]
	}
	b.text = make([]byte, 0, size+size/8)
	for r, err := range f.read(at, lo, hi) {
		if err == nil {
			b.text, err = r.columns.AppendLine(b.text, &r.Record, f.names)
		}
		if err != nil {
			return batch{err: err}
		}
	}
	return b
}
