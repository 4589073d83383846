package table

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	pschema "github.com/apache/arrow/go/v17/parquet/schema"
)

// columnsOf returns the columns of a file but those of pandas' index.
func columnsOf(in *file.Reader) []parquetColumn {
	var columns []parquetColumn
	index, stored := pandasIndex(in), storedSchema(in)
	leaves := in.MetaData().Schema
	for leaf := range leaves.NumColumns() {
		root := leaves.ColumnRoot(leaf)
		c := parquetColumn{name: root.Name(), leaf: leaf}
		if slices.Contains(index, c.name) {
			continue
		}
		if _, plain := root.(*pschema.PrimitiveNode); !plain || root.RepetitionType() == parquet.Repetitions.Repeated {
			if last := len(columns) - 1; last >= 0 && leaves.ColumnRoot(columns[last].leaf) == root {
				continue // the same column
			}
			c.err = fmt.Errorf("it holds lists or structures")
		} else if c.data, c.err = arrowType(leaves.Column(leaf)); c.err == nil {
			if c.err = stored[c.name]; c.err == nil {
				c.kind = kindOfArrow(c.data)
			}
		}
		columns = append(columns, c)
	}
	return columns
}

// storedSchema says which columns were of types that Parquet does not know,
// such as durations, which are written as integers.
func storedSchema(in *file.Reader) map[string]error {
	text := in.MetaData().KeyValueMetadata().FindValue("ARROW:schema")
	if text == nil {
		return nil
	}
	r, err := ipc.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(*text)))
	if err != nil {
		return nil
	}
	defer r.Release()
	strange := make(map[string]error)
	for _, f := range r.Schema().Fields() {
		t := f.Type
		if d, ok := t.(*arrow.DictionaryType); ok {
			t = d.ValueType
		}
		if kindOfArrow(t) == Missing {
			strange[f.Name] = fmt.Errorf("it holds %s", f.Type)
		}
	}
	return strange
}

// arrowType is the type that a column is read as.
func arrowType(c *pschema.Column) (arrow.DataType, error) {
	logical := c.LogicalType()
	none := logical == nil || logical.IsNone() || !logical.IsValid()
	integer, isInteger := logical.(*pschema.IntLogicalType)
	_, isText := logical.(pschema.StringLogicalType)
	switch stored := c.PhysicalType(); {
	case stored == parquet.Types.Int32 && isInteger && integer.BitWidth() == 32 && !integer.IsSigned():
		return arrow.PrimitiveTypes.Uint32, nil
	case stored == parquet.Types.Int32 && (isInteger || none):
		return arrow.PrimitiveTypes.Int32, nil
	case stored == parquet.Types.Int64 && isInteger && !integer.IsSigned():
		return arrow.PrimitiveTypes.Uint64, nil
	case stored == parquet.Types.Int64 && (isInteger || none):
		return arrow.PrimitiveTypes.Int64, nil
	case stored == parquet.Types.Double:
		return arrow.PrimitiveTypes.Float64, nil
	case stored == parquet.Types.Boolean:
		return arrow.FixedWidthTypes.Boolean, nil
	case stored == parquet.Types.ByteArray && isText:
		return arrow.BinaryTypes.String, nil
	case none:
		return nil, fmt.Errorf("it holds %s", stored)
	}
	return nil, fmt.Errorf("it holds %s", logical)
}

// kindOfArrow returns the kind of cells of a type, Missing if there is none.
func kindOfArrow(t arrow.DataType) Kind {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32:
		return Int64
	case arrow.UINT64:
		return Uint64
	case arrow.FLOAT64:
		return Float64
	case arrow.BOOL:
		return Bool
	case arrow.STRING, arrow.LARGE_STRING:
		return Text
	}
	return Missing
}

// scanColumns visits the cells of some columns, row group by row group, at most
// parquetRows at a time.
func scanColumns(ctx context.Context, in *file.Reader, columns []parquetColumn, visit func([]arrow.Array) error) error {
	buffers := &sync.Pool{New: func() any { return memory.NewResizableBuffer(memory.DefaultAllocator) }}
	readers := make([]file.RecordReader, len(columns))
	for i, c := range columns {
		descr := in.MetaData().Schema.Column(c.leaf)
		level := file.LevelInfo{NullSlotUsage: 1, DefLevel: descr.MaxDefinitionLevel()}
		readers[i] = file.NewRecordReader(descr, level, c.data, memory.DefaultAllocator, buffers)
		defer readers[i].Release()
	}
	for number := range in.NumRowGroups() {
		group := in.RowGroup(number)
		for i, c := range columns {
			pages, err := group.GetColumnPageReader(c.leaf)
			if err != nil {
				return err
			}
			readers[i].SetPageReader(pages)
		}
		if err := scanGroup(ctx, group.NumRows(), columns, readers, visit); err != nil {
			return err
		}
	}
	return nil
}

func scanGroup(ctx context.Context, rows int64, columns []parquetColumn, readers []file.RecordReader, visit func([]arrow.Array) error) error {
	arrays := make([]arrow.Array, len(columns))
	for rows > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(rows, parquetRows)
		for i, c := range columns {
			var err error
			if arrays[i], err = readArray(readers[i], c.data, n); err != nil {
				return fmt.Errorf("column %q: %w", c.name, err)
			}
		}
		if err := visit(arrays); err != nil {
			return err
		}
		rows -= n
	}
	return nil
}

// readArray reads the next n cells of a column.
func readArray(r file.RecordReader, t arrow.DataType, n int64) (arrow.Array, error) {
	r.Reset()
	if err := r.Reserve(n); err != nil {
		return nil, err
	}
	for left := n; left > 0; {
		got, err := r.ReadRecords(left)
		if err != nil {
			return nil, err
		}
		if got == 0 {
			return nil, fmt.Errorf("%d cells are missing", left)
		}
		left -= got
	}
	switch t.ID() {
	case arrow.STRING:
		return array.Concatenate(r.(file.BinaryRecordReader).GetBuilderChunks(), memory.DefaultAllocator)
	case arrow.BOOL:
		return boolArray(r), nil
	}
	missing := int(r.NullCount())
	return array.MakeFromData(array.NewData(t, r.ValuesWritten(), []*memory.Buffer{r.ReleaseValidBits(), r.ReleaseValues()}, nil, missing, 0)), nil
}

// boolArray makes bits of the bytes that are read.
func boolArray(r file.RecordReader) arrow.Array {
	n, missing := r.ValuesWritten(), int(r.NullCount())
	bits := make([]byte, (n+7)/8)
	for i, v := range r.Values()[:n] {
		if v != 0 {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return array.MakeFromData(array.NewData(arrow.FixedWidthTypes.Boolean, n, []*memory.Buffer{r.ReleaseValidBits(), memory.NewBufferBytes(bits)}, nil, missing, 0))
}
