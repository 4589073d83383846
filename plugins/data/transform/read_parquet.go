package transform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

var parquetVerb = Verb{
	Name: "parquet", Params: []string{"path"},
	Summary: "The table in a Parquet file of the raw data, read again when it is written.",
	Detail:  "table.name is a column. where_in, where_not_in, omit, head, take, splits, select and drop choose unread; other verbs read the table into memory. Columns are integers (64 bits; floats if cells are missing), doubles, booleans or strings. pandas' index columns are left out.",
	Source:  "pandas.read_parquet (2.2)",
	Func:    openParquet,
}

// parquetRows are rows and columns of a Parquet file: a Stream.
type parquetRows struct {
	file   *parquetFile
	names  []string
	chosen selection
}

// parquetFile is an open Parquet file.
type parquetFile struct {
	*table.Parquet
	ctx  context.Context
	path string
}

func openParquet(in *Input, path string) (_ *parquetRows, err error) {
	defer reading("parquet", path, &err)
	at, size, err := in.readable(path)
	if err != nil {
		return nil, err
	}
	p, err := table.OpenParquet(in.Context, at, size)
	if err != nil {
		return nil, err
	}
	return &parquetRows{file: &parquetFile{p, in.Context, path}, names: p.Names(), chosen: all(p.Len())}, nil
}

// readable opens a file to be read at any place until the input is closed; one
// in an archive is copied into a temporary file.
func (in *Input) readable(path string) (io.ReaderAt, int64, error) {
	f, err := in.Raw.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder", path)
	}
	var src archive.Source
	var drop func() error
	if err == nil {
		src, drop, err = archive.SourceOf(f, "")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	in.keepOpen(closer(func() error { return errors.Join(drop(), f.Close()) }))
	return src.ReaderAt, src.Size, nil
}

// closer is an io.Closer.
type closer func() error

// Close implements io.Closer.
func (c closer) Close() error { return c() }

// Len implements Rows.
func (f *parquetRows) Len() int { return f.chosen.n }

// Take implements Rows.
func (f *parquetRows) Take(rows []int) Rows { return f.with(f.chosen.take(rows)) }

// Pick implements Picker.
func (f *parquetRows) Pick(keep func(position int) bool) Rows { return f.with(f.chosen.pick(keep)) }

func (f *parquetRows) with(rows selection) *parquetRows {
	return &parquetRows{file: f.file, names: f.names, chosen: rows}
}

// Select implements Stream.
func (f *parquetRows) Select(names ...string) (Rows, error) { return f.only(names...) }

func (f *parquetRows) only(names ...string) (*parquetRows, error) {
	if err := allAmong(f.names, names); err != nil {
		return nil, err
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("column %q is named twice", name)
		}
	}
	return &parquetRows{file: f.file, names: names, chosen: f.chosen}, nil
}

// without returns the rows without the named columns.
func (f *parquetRows) without(names []string) (Rows, error) {
	if err := allAmong(f.names, names); err != nil {
		return nil, err
	}
	return f.Select(slices.DeleteFunc(slices.Clone(f.names), func(n string) bool { return slices.Contains(names, n) })...)
}

// Column implements Columned.
func (f *parquetRows) Column(name string) (*table.Column, error) {
	one, err := f.only(name)
	if err != nil {
		return nil, err
	}
	t, err := one.Table()
	if err != nil {
		return nil, err
	}
	return t.Column(name)
}

// Where implements Stream.
func (f *parquetRows) Where(name string, keep func(table.Value) bool) (Rows, error) {
	if !f.chosen.ordered() {
		return whereCell(f, name, keep)
	}
	one, err := f.only(name)
	if err != nil {
		return nil, err
	}
	b := newSelector(f.chosen.last() + 1)
	at := 0
	err = one.scan(func(t *table.Table) error {
		c := t.Columns()[0]
		for i := range c.Len() {
			if f.chosen.has(at+i) && keep(c.Value(i)) {
				b.add(at + i)
			}
		}
		at += c.Len()
		return nil
	})
	return f.with(b.selection), err
}

// scan visits all rows of the file.
func (f *parquetRows) scan(visit func(*table.Table) error) error {
	if err := f.file.Scan(f.file.ctx, f.names, visit); err != nil {
		return fmt.Errorf("%s: %w", f.file.path, err)
	}
	return nil
}

// each visits the rows in their order, in parts. Rows in another order than the
// file's are read into memory.
func (f *parquetRows) each(visit func(*table.Table) error) error {
	if !f.chosen.ordered() {
		t, err := f.Table()
		if err != nil {
			return err
		}
		return visit(t)
	}
	at, seen := 0, false
	err := f.scan(func(t *table.Table) error {
		seen = true
		from := at
		at += t.Len()
		if f.chosen.set == nil {
			return visit(t)
		}
		return visit(t.Take(where(t.Len(), func(i int) bool { return f.chosen.has(from + i) })))
	})
	if err != nil || seen {
		return err
	}
	t, err := f.empty()
	if err != nil {
		return err
	}
	return visit(t)
}

// empty returns the columns without rows.
func (f *parquetRows) empty() (*table.Table, error) { return f.file.Empty(f.names) }

// Table implements Tabular.
func (f *parquetRows) Table() (*table.Table, error) {
	if !f.chosen.ordered() {
		return f.reordered()
	}
	var cells []gathered
	err := f.each(func(t *table.Table) error {
		if cells == nil {
			cells = make([]gathered, len(t.Columns()))
		}
		for i, c := range t.Columns() {
			cells[i].add(c, f.chosen.n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	cols, err := table.TryCollect(len(cells), func(i int) (*table.Column, error) { return cells[i].column(f.names[i]) })
	if err != nil {
		return nil, err
	}
	return table.New(cols...)
}

// gathered is a column that is put together from parts of one kind, numbers
// without holding the parts too.
type gathered struct {
	kind   table.Kind
	ints   []int64
	floats []float64
	parts  []*table.Table
	err    error
}

// add adds a part of a column that will have n cells.
func (g *gathered) add(c *table.Column, n int) {
	switch g.kind = c.Kind(); g.kind {
	case table.Int64:
		g.ints = append(slices.Grow(g.ints, n-len(g.ints)), c.Ints()...)
	case table.Float64:
		g.floats = append(slices.Grow(g.floats, n-len(g.floats)), c.Floats()...)
	default:
		t, err := table.New(c)
		g.parts, g.err = append(g.parts, t), errors.Join(g.err, err)
	}
}

func (g *gathered) column(name string) (*table.Column, error) {
	switch {
	case g.err != nil:
		return nil, g.err
	case g.kind == table.Int64:
		return table.FromInts(name, g.ints), nil
	case g.kind == table.Float64:
		return table.FromFloats(name, g.floats), nil
	}
	t, err := table.Concat(g.parts...)
	if err != nil {
		return nil, err
	}
	return t.Column(name)
}

// reordered reads each row once and puts them into their order.
func (f *parquetRows) reordered() (*table.Table, error) {
	rows := slices.Clone(f.chosen.list)
	slices.Sort(rows)
	rows = slices.Compact(rows)
	b := newSelector(f.chosen.last() + 1)
	for _, row := range rows {
		b.add(int(row))
	}
	t, err := f.with(b.selection).Table()
	if err != nil {
		return nil, err
	}
	places := make([]int, len(f.chosen.list))
	for i, row := range f.chosen.list {
		places[i], _ = slices.BinarySearch(rows, row)
	}
	return t.Take(places), nil
}

// WriteParquet writes a table, or rows of a Parquet file, as a Parquet file.
func WriteParquet(w io.Writer, rows Rows) error {
	var head *table.Table
	each := func(visit func(*table.Table) error) error { return visit(head) }
	var err error
	switch r := rows.(type) {
	case TableRows:
		head = r.Table
	case *parquetRows:
		if head, err = r.empty(); err != nil {
			return err
		}
		each = r.each
	default:
		return errors.New("expected a table")
	}
	out, err := table.NewParquetWriter(w, head)
	if err != nil {
		return err
	}
	if err := each(out.Write); err != nil {
		return err
	}
	return out.Close()
}
