package transform

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/bson"
)

var bsonVerb = Verb{
	Name: "bson", Params: []string{"path"},
	Summary: "The documents of a BSON file in the raw data, read again when they are written.",
	Detail:  `documents.name is a field's column, select(documents, "a", "b") a table of fields, read in one pass. A document without the field has a missing cell; a field that is a document, list or binary is an error. where_in, where_not_in, head, take and splits choose documents unread; drop leaves fields out.`,
	Source:  "bson.decode_file_iter (pymongo 4)",
	Func: func(in *Input, path string) (_ *Documents, err error) {
		defer reading("bson", path, &err)
		f, err := in.Raw.Open(path)
		if err != nil {
			return nil, err
		}
		return &Documents{file: &bsonFile{in: in, path: path, cells: map[string]*table.Column{}}}, f.Close()
	},
}

// Documents are documents of a BSON file.
type Documents struct {
	file    *bsonFile
	chosen  *selection // nil: all
	dropped []string
}

// bsonFile is a BSON file with the known facts about it.
type bsonFile struct {
	in   *Input
	path string

	mu sync.Mutex
	// ends are where documents end, once the file was read to its end.
	ends []int64
	read bool
	err  error
	// cells are the fields of all documents that were asked for.
	cells map[string]*table.Column
}

// Len implements Rows.
func (d *Documents) Len() int { return d.rows().n }

// rows returns the numbers of the documents; a file that cannot be read has
// none, and writing it gives the error.
func (d *Documents) rows() selection {
	if d.chosen != nil {
		return *d.chosen
	}
	_, n, err := d.file.columns()
	if err != nil {
		return all(0)
	}
	return all(n)
}

// Take implements Rows.
func (d *Documents) Take(rows []int) Rows { return d.with(d.rows().take(rows)) }

// Pick implements Picker.
func (d *Documents) Pick(keep func(position int) bool) Rows { return d.with(d.rows().pick(keep)) }

func (d *Documents) with(rows selection) *Documents {
	return &Documents{file: d.file, chosen: &rows, dropped: d.dropped}
}

// without returns the documents without the named fields.
func (d *Documents) without(names []string) *Documents {
	return &Documents{file: d.file, chosen: d.chosen, dropped: slices.Concat(d.dropped, names)}
}

// Column implements Columned.
func (d *Documents) Column(name string) (*table.Column, error) {
	t, err := d.table([]string{name})
	if err != nil {
		return nil, err
	}
	return t.Column(name)
}

// Select implements Streams; the result is a table.
func (d *Documents) Select(names ...string) (Rows, error) {
	t, err := d.table(names)
	return TableRows{t}, err
}

func (d *Documents) table(names []string) (*table.Table, error) {
	for _, name := range names {
		if slices.Contains(d.dropped, name) {
			return nil, fmt.Errorf("%s: field %q was dropped", d.file.path, name)
		}
	}
	columns, _, err := d.file.columns(names...)
	if err != nil {
		return nil, err
	}
	t, err := table.New(columns...)
	if err != nil || d.chosen == nil {
		return t, err
	}
	return t.Take(slices.Collect(d.chosen.rows())), nil
}

// Where implements Streams.
func (d *Documents) Where(name string, keep func(table.Value) bool) (Rows, error) {
	return whereCell(d, name, keep)
}

// columns returns fields of all documents, and their number. The file is read
// only when something is asked for that is not known yet.
func (f *bsonFile) columns(names ...string) ([]*table.Column, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var unknown []string
	for _, name := range names {
		if f.cells[name] == nil && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	if f.err == nil && (!f.read || len(unknown) > 0) {
		f.err = f.scan(unknown)
	}
	if f.err != nil {
		return nil, 0, f.err
	}
	return lists.Of(names, func(name string) *table.Column { return f.cells[name] }), len(f.ends), nil
}

// scan reads the whole file and keeps the named fields.
func (f *bsonFile) scan(names []string) (err error) {
	file, err := f.in.Raw.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := bson.NewReader(file)
	fields := make([]fieldBuilder, len(names))
	var ends []int64
	for {
		d, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = f.in.Context.Err()
		}
		if err == nil {
			err = addFields(fields, names, d)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		ends = append(ends, r.Offset())
		if len(ends) > math.MaxInt32 {
			return fmt.Errorf("%s: more than %d documents", f.path, math.MaxInt32)
		}
	}
	for i, name := range names {
		if !fields[i].found && len(ends) > 0 {
			return fmt.Errorf("%s: no document has a field %q", f.path, name)
		}
		f.cells[name] = fields[i].column(name)
	}
	f.ends, f.read = ends, true
	return nil
}

// addFields adds a document's fields of those names.
func addFields(fields []fieldBuilder, names []string, d bson.Document) error {
	cells := make([]table.Value, len(names))
	err := d.Each(func(e bson.Element) error {
		i := slices.IndexFunc(names, func(n string) bool { return n == string(e.Name) })
		if i < 0 {
			return nil
		}
		cell, err := e.Cell()
		if err != nil {
			return fmt.Errorf("field %q: %w", e.Name, err)
		}
		cells[i], fields[i].found = cell, true
		return nil
	})
	for i := range fields {
		fields[i].add(cells[i])
	}
	return err
}

// fieldBuilder builds a column, in little memory as long as its cells are
// integers.
type fieldBuilder struct {
	found bool
	ints  []int64
	cells []table.Value
}

func (b *fieldBuilder) add(v table.Value) {
	if b.cells == nil && v.Kind() == table.Int64 {
		b.ints = append(b.ints, v.Int())
		return
	}
	if b.cells == nil {
		b.cells = make([]table.Value, len(b.ints), 2*len(b.ints)+1)
		for i, n := range b.ints {
			b.cells[i] = table.IntValue(n)
		}
		b.ints = nil
	}
	b.cells = append(b.cells, v)
}

func (b *fieldBuilder) column(name string) *table.Column {
	if b.cells == nil {
		return table.FromInts(name, b.ints)
	}
	return table.FromValues(name, b.cells)
}

// window is how much is read at once of adjacent documents.
const window = 1 << 20

// WriteBSON writes documents one after the other, as bson.encode writes decoded
// ones, and checks them.
func WriteBSON(w io.Writer, d *Documents) (err error) {
	rows := d.rows()
	if _, _, err := d.file.columns(); err != nil {
		return err
	}
	at, closer, err := d.file.in.openAt(d.file.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	in := windowed{from: at, size: d.file.end(len(d.file.ends) - 1)}
	var out []byte
	for row := range rows.rows() {
		doc, err := in.read(d.file.end(row-1), d.file.end(row))
		if err == nil {
			out, err = bson.Append(out[:0], doc, d.dropped...)
		}
		if err != nil {
			return fmt.Errorf("%s: document %d: %w", d.file.path, row, err)
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// end is where a document ends.
func (f *bsonFile) end(row int) int64 {
	if row < 0 {
		return 0
	}
	return f.ends[row]
}

// windowed reads parts of a file, more than asked for where the next part is
// likely to be behind the last one.
type windowed struct {
	from io.ReaderAt
	size int64
	at   int64
	buf  []byte
}

func (r *windowed) read(from, to int64) ([]byte, error) {
	have := r.at + int64(len(r.buf))
	if from < r.at || to > have {
		n := to - from
		if from >= have && from-have < window {
			n = max(n, min(window, r.size-from))
		}
		if int64(cap(r.buf)) < n {
			r.buf = make([]byte, n)
		}
		r.buf = r.buf[:n]
		r.at = from
		if got, err := r.from.ReadAt(r.buf, from); got < len(r.buf) {
			r.buf = r.buf[:0]
			return nil, fmt.Errorf("read %d bytes at %d: %w", n, from, err)
		}
	}
	return r.buf[from-r.at : to-r.at], nil
}
