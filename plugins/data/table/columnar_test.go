package table_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// columnar has every kind, with missing cells where the kind has them.
func columnar(t *testing.T) *table.Table {
	t.Helper()
	tab, err := table.New(
		table.FromInts("i", []int64{math.MinInt64, 0, math.MaxInt64}),
		table.FromUints("u", []uint64{1, math.MaxUint64, 3}),
		table.FromFloats("f", []float64{0.1, math.NaN(), math.Inf(-1)}),
		table.FromBools("b", []bool{true, false, true}, []bool{true, true, false}),
		table.FromTexts("t", []string{"ä, \"x\"", "", "z"}, []bool{true, true, false}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// want are the columns as Arrow shows them.
var want = map[string]string{
	"i": "[-9223372036854775808 0 9223372036854775807]", "u": "[1 18446744073709551615 3]", "f": "[0.1 (null) -Inf]",
	"b": "[true false (null)]", "t": `["ä, \"x\"" "" (null)]`,
}

var kinds = map[string]arrow.Type{"i": arrow.INT64, "u": arrow.UINT64, "f": arrow.FLOAT64, "b": arrow.BOOL, "t": arrow.STRING}

func shown(schema *arrow.Schema, column func(i int) string) (map[string]string, map[string]arrow.Type) {
	texts, types := map[string]string{}, map[string]arrow.Type{}
	for i, f := range schema.Fields() {
		texts[f.Name], types[f.Name] = column(i), f.Type.ID()
	}
	return texts, types
}

func TestWriteArrow(t *testing.T) {
	var out bytes.Buffer
	if err := table.WriteArrow(&out, columnar(t)); err != nil {
		t.Fatal(err)
	}
	in, err := ipc.NewFileReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rec, err := in.Record(0)
	if err != nil || in.NumRecords() != 1 {
		t.Fatalf("%d records, %v", in.NumRecords(), err)
	}
	texts, types := shown(rec.Schema(), func(i int) string { return rec.Column(i).String() })
	if diff := cmp.Diff(want, texts) + cmp.Diff(kinds, types); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sameBytes(t, table.WriteArrow, out.Bytes())
}

func TestWriteParquet(t *testing.T) {
	var out bytes.Buffer
	if err := table.WriteParquet(&out, columnar(t)); err != nil {
		t.Fatal(err)
	}
	tab, err := pqarrow.ReadTable(context.Background(), bytes.NewReader(out.Bytes()), parquet.NewReaderProperties(nil), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Release()
	texts, types := shown(tab.Schema(), func(i int) string {
		all, err := array.Concatenate(tab.Column(i).Data().Chunks(), memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		return all.String()
	})
	if diff := cmp.Diff(want, texts) + cmp.Diff(kinds, types); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	meta, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil || meta.NumRowGroups() != 1 || !strings.HasPrefix(meta.MetaData().GetCreatedBy(), "mleflow") {
		t.Errorf("%v, %v", meta, err)
	}
	sameBytes(t, table.WriteParquet, out.Bytes())
}

// sameBytes writes again, and to a writer that is full.
func sameBytes(t *testing.T, write func(io.Writer, *table.Table) error, want []byte) {
	t.Helper()
	var again bytes.Buffer
	if err := write(&again, columnar(t)); err != nil || !bytes.Equal(want, again.Bytes()) {
		t.Errorf("the second time other bytes are written (%v)", err)
	}
	for _, space := range []int{0, 5, len(want) / 2, len(want) - 1} {
		if err := write(&fullWriter{space}, columnar(t)); err == nil {
			t.Errorf("no error although there is space for %d of %d bytes only", space, len(want))
		}
	}
	empty, err := table.New(table.FromTexts("x", nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := write(io.Discard, empty); err != nil {
		t.Errorf("a table without rows: %v", err)
	}
	mixed, err := table.New(table.FromValues("m", []table.Value{table.IntValue(1), table.TextValue("a")}))
	if err != nil {
		t.Fatal(err)
	}
	if err := write(io.Discard, mixed); err == nil || !strings.Contains(err.Error(), `column "m"`) {
		t.Errorf("a column of several kinds: %v", err)
	}
}

type fullWriter struct{ space int }

func (w *fullWriter) Write(p []byte) (int, error) {
	if len(p) > w.space {
		return 0, io.ErrShortWrite
	}
	w.space -= len(p)
	return len(p), nil
}
