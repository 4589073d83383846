package table_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// TestListsInParquet reads lists back with Arrow's own reader, from two row groups.
func TestListsInParquet(t *testing.T) {
	nan := math.NaN()
	ints := [][]int64{{1, 2}, {}, {-3}, {4, 5, 6}}
	floats := [][]float64{{nan, 1}, {}, {nan}, {2, nan, -9999}}
	cells, err := table.New(table.FromTexts("name", []string{"a", "", "c", "d"}, []bool{true, false, true, true}))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	part := func(lo, hi int) []table.List {
		return []table.List{{Name: "ints", Ints: ints[lo:hi]}, {Name: "floats", Floats: floats[lo:hi]}}
	}
	w, err := table.NewListWriter(&out, cells, part(0, 1)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][2]int{{0, 3}, {3, 4}} {
		if err := w.Write(cells.Slice(at[0], at[1]), part(at[0], at[1])...); err != nil {
			t.Fatal(err)
		}
	}
	if w.Write(cells, part(0, 4)[:1]...) == nil {
		t.Error("a column of lists is missing, and that is no error")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	in, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	r, err := pqarrow.NewFileReader(in, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var texts [3][]string
	for i := range texts {
		for _, chunk := range got.Column(i).Data().Chunks() {
			for row := range chunk.Len() {
				text := chunk.ValueStr(row)
				if chunk.IsNull(row) {
					text = array.NullValueStr
				}
				texts[i] = append(texts[i], text)
			}
		}
	}
	want := [3][]string{{"a", "(null)", "c", "d"}, {"[1,2]", "[]", "[-3]", "[4,5,6]"}, {"[null,1]", "[]", "[null]", "[2,null,-9999]"}}
	if d := cmp.Diff(want, texts); d != "" {
		t.Error(d)
	}
}
