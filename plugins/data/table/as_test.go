package table_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// Texts are integers and times in files with types, if every one is exactly that,
// and the same texts in CSV.
func TestColumnsAs(t *testing.T) {
	texts := func(name string, as table.As, v ...string) *table.Column {
		return table.FromTexts(name, v, []bool{true, false, true}).As(as)
	}
	tab, err := table.New(
		texts("seed", table.Integers, "-7", "", "9007199254740993"),
		texts("padded", table.Integers, "1", "", "007"),
		texts("back", table.Integers, "1", "", "2").As(table.Plain),
		texts("started", table.Times, "2026-01-02T03:04:05Z", "", "1969-12-31T23:59:59.5Z"),
		texts("zoned", table.Times, "2026-01-02T03:04:05Z", "", "2026-01-02T03:04:05+01:00"),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"seed": "int64 [-7 (null) 9007199254740993]", "padded": `utf8 ["1" (null) "007"]`, "back": `utf8 ["1" (null) "2"]`,
		"started": "timestamp[us, tz=UTC] [1767323045000000 (null) -500000]",
		"zoned":   `utf8 ["2026-01-02T03:04:05Z" (null) "2026-01-02T03:04:05+01:00"]`,
	}
	var out, parquets bytes.Buffer
	if err := errors.Join(table.WriteArrow(&out, tab), table.WriteParquet(&parquets, tab)); err != nil {
		t.Fatal(err)
	}
	in, err := ipc.NewFileReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rec, err := in.Record(0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(parquets.Bytes()), parquet.NewReaderProperties(nil), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Release()
	arrowed, parqueted := map[string]string{}, map[string]string{}
	for i, f := range rec.Schema().Fields() {
		arrowed[f.Name] = f.Type.String() + " " + rec.Column(i).String()
		parqueted[f.Name] = again.Schema().Field(i).Type.String() + " " + again.Column(i).Data().Chunk(0).String()
	}
	if diff := cmp.Diff(want, arrowed) + cmp.Diff(want, parqueted); diff != "" {
		t.Errorf("(-want +Arrow, -want +Parquet):\n%s", diff)
	}
}
