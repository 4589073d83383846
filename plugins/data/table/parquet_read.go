package table

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// parquetRows is how many rows Scan gives out at once.
const parquetRows = 1 << 16

// Parquet is an open Parquet file whose columns are numbers, booleans or
// strings. It is safe for use by several goroutines at once.
type Parquet struct {
	r       io.ReaderAt
	size    int64
	rows    int
	columns []parquetColumn
}

// parquetColumn is a column of a file; err says why it cannot be read.
type parquetColumn struct {
	name string
	leaf int
	data arrow.DataType
	kind Kind
	err  error
}

// OpenParquet reads the footer of a Parquet file. Columns have the kinds that
// pandas.read_parquet gives them, all widths of integers taken as 64 bits:
// integers with missing cells are doubles. Columns that pandas keeps as an
// index are left out. To learn whether cells are missing, columns whose
// statistics do not tell are read.
func OpenParquet(ctx context.Context, r io.ReaderAt, size int64) (_ *Parquet, err error) {
	defer guard("open Parquet", &err)
	p := &Parquet{r: r, size: size}
	in, err := p.open()
	if err != nil {
		return nil, fmt.Errorf("open Parquet: %w", err)
	}
	n := in.NumRows()
	if n < 0 || n > math.MaxInt32 {
		return nil, fmt.Errorf("open Parquet: %d rows; at most %d are allowed", n, math.MaxInt32)
	}
	p.rows = int(n)
	for _, c := range columnsOf(in) {
		if p.has(c.name) {
			return nil, fmt.Errorf("open Parquet: two columns %q", c.name)
		}
		if c.kind == Int64 || c.kind == Uint64 {
			missing, err := hasMissing(ctx, in, c)
			if err != nil {
				return nil, fmt.Errorf("open Parquet: column %q: %w", c.name, err)
			}
			if missing {
				c.kind = Float64
			}
		}
		p.columns = append(p.columns, c)
	}
	return p, nil
}

// guard turns a panic of the library, which damaged files cause, into an error.
func guard(what string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: damaged file: %v", what, p)
	}
}

// open returns a reader of its own, since the library's keep a place.
func (p *Parquet) open() (*file.Reader, error) {
	props := parquet.NewReaderProperties(memory.DefaultAllocator)
	props.BufferedStreamEnabled = true
	props.BufferSize = 1 << 18
	return file.NewParquetReader(io.NewSectionReader(p.r, 0, p.size), file.WithReadProps(props))
}

// pandasIndex returns the columns that pandas wrote an index into.
func pandasIndex(in *file.Reader) []string {
	text := in.MetaData().KeyValueMetadata().FindValue("pandas")
	if text == nil {
		return nil
	}
	var meta struct {
		Index []any `json:"index_columns"`
	}
	if json.Unmarshal([]byte(*text), &meta) != nil {
		return nil
	}
	var names []string
	for _, name := range meta.Index {
		if s, ok := name.(string); ok {
			names = append(names, s)
		}
	}
	return names
}

// hasMissing reports whether a column has missing cells, from its statistics
// where they tell.
func hasMissing(ctx context.Context, in *file.Reader, c parquetColumn) (bool, error) {
	meta := in.MetaData()
	if meta.Schema.Column(c.leaf).MaxDefinitionLevel() == 0 {
		return false, nil
	}
	told := true
	for i := range in.NumRowGroups() {
		chunk, err := meta.RowGroup(i).ColumnChunk(c.leaf)
		if err != nil {
			return false, err
		}
		stats, err := chunk.Statistics()
		switch {
		case err != nil || stats == nil || !stats.HasNullCount():
			told = false
		case stats.NullCount() > 0:
			return true, nil
		}
	}
	if told {
		return false, nil
	}
	found := false
	err := scanColumns(ctx, in, []parquetColumn{c}, func(arrays []arrow.Array) error {
		found = found || arrays[0].NullN() > 0
		return nil
	})
	return found, err
}

// Len returns the number of rows.
func (p *Parquet) Len() int { return p.rows }

// Names returns the names of the columns.
func (p *Parquet) Names() []string {
	return lists.Of(p.columns, func(c parquetColumn) string { return c.name })
}

func (p *Parquet) has(name string) bool { return slices.Contains(p.Names(), name) }

// find returns the columns of those names.
func (p *Parquet) find(names []string) ([]parquetColumn, error) {
	return TryCollect(len(names), func(i int) (c parquetColumn, err error) {
		at := slices.IndexFunc(p.columns, func(c parquetColumn) bool { return c.name == names[i] })
		if at < 0 {
			return c, &NoColumnError{Name: names[i], Have: p.Names()}
		}
		if c = p.columns[at]; c.err != nil {
			err = fmt.Errorf("column %q: %w, which tables do not", c.name, c.err)
		}
		return c, err
	})
}

// Scan gives out the rows of the named columns, in order, as tables of at most
// 65,536 rows. It holds one of them, and a page of each column, at a time. An
// error of each ends the scan and is returned.
func (p *Parquet) Scan(ctx context.Context, names []string, each func(*Table) error) (err error) {
	defer guard("read Parquet", &err)
	columns, err := p.find(names)
	if err != nil {
		return err
	}
	if len(names) == 0 || p.rows == 0 {
		return nil
	}
	in, err := p.open()
	if err != nil {
		return fmt.Errorf("read Parquet: %w", err)
	}
	rows := 0
	err = scanColumns(ctx, in, columns, func(arrays []arrow.Array) error {
		rows += arrays[0].Len()
		t, err := tableOf(columns, arrays)
		if err != nil {
			return err
		}
		return each(t)
	})
	if err == nil && rows != p.rows {
		err = fmt.Errorf("read Parquet: %d rows, the footer says %d", rows, p.rows)
	}
	return err
}

// tableOf copies the arrays of some columns.
func tableOf(columns []parquetColumn, arrays []arrow.Array) (*Table, error) {
	cols := make([]*Column, len(columns))
	for i, c := range columns {
		var err error
		if cols[i], err = columnOf(c.name, c.kind, arrays[i]); err != nil {
			return nil, fmt.Errorf("column %q: %w", c.name, err)
		}
	}
	return New(cols...)
}

// columnOf copies an array into a column of that kind.
func columnOf(name string, kind Kind, data arrow.Array) (*Column, error) {
	n, valid := data.Len(), Collect(data.Len(), data.IsValid)
	switch a := data.(type) {
	case *array.Uint64:
		if kind == Uint64 {
			return FromUints(name, slices.Clone(a.Uint64Values())), nil
		}
		return floatsOf(name, valid, func(i int) float64 { return float64(a.Value(i)) }), nil
	case *array.Float64:
		return floatsOf(name, valid, a.Value), nil
	case *array.Boolean:
		return FromBools(name, Collect(n, func(i int) bool { return valid[i] && a.Value(i) }), valid), nil
	case *array.String:
		return FromTexts(name, Collect(n, a.Value), valid), nil
	}
	whole, err := intAt(data)
	switch {
	case err != nil:
		return nil, err
	case kind == Int64:
		return FromInts(name, Collect(n, whole)), nil
	}
	return floatsOf(name, valid, func(i int) float64 { return float64(whole(i)) }), nil
}

// intAt returns how to read the integers of an array.
func intAt(data arrow.Array) (func(i int) int64, error) {
	switch a := data.(type) {
	case *array.Int64:
		return a.Value, nil
	case *array.Int32:
		return func(i int) int64 { return int64(a.Value(i)) }, nil
	case *array.Uint32:
		return func(i int) int64 { return int64(a.Value(i)) }, nil
	}
	return nil, fmt.Errorf("unexpected data of type %s", data.DataType())
}

func floatsOf(name string, valid []bool, at func(i int) float64) *Column {
	return FromFloats(name, Collect(len(valid), func(i int) float64 {
		if !valid[i] {
			return nan()
		}
		return at(i)
	}))
}

// Empty returns the named columns without rows.
func (p *Parquet) Empty(names []string) (*Table, error) {
	columns, err := p.find(names)
	if err != nil {
		return nil, err
	}
	return New(lists.Of(columns, func(c parquetColumn) *Column { return FromKind(c.name, c.kind, nil) })...)
}
