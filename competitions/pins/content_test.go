package pins_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// parquetFiles returns a table as two Parquet files of other bytes, and a file
// of another table.
func parquetFiles(t *testing.T) (one, two, other string) {
	t.Helper()
	write := func(write func(*bytes.Buffer, *table.Table) error, cells ...float64) string {
		tbl, err := table.New(table.FromInts("id", []int64{1, 2, 3}), table.FromFloats("x", cells))
		var buf bytes.Buffer
		if err == nil {
			err = write(&buf, tbl)
		}
		if err != nil {
			t.Fatal(err)
		}
		return buf.String()
	}
	plain := func(b *bytes.Buffer, tbl *table.Table) error { return table.WriteParquet(b, tbl) }
	snappy := func(b *bytes.Buffer, tbl *table.Table) error {
		w, err := table.NewParquetWriter(b, tbl)
		if err == nil {
			err = w.Write(tbl)
		}
		if err == nil {
			err = w.Close()
		}
		return err
	}
	return write(plain, 1, 2, 3), write(snappy, 1, 2, 3), write(plain, 1, 2, 4)
}

func TestContentPins(t *testing.T) {
	one, two, other := parquetFiles(t)
	if one == two {
		t.Fatal("both files have the same bytes")
	}
	sum, err := table.ParquetContent(t.Context(), strings.NewReader(one), int64(len(one)))
	if err != nil {
		t.Fatal(err)
	}
	pin := func(p string) string {
		return fmt.Sprintf("prepared \"v1\" {\n public = { %q = %q }\n}\n", "t.parquet", p)
	}
	for _, tt := range []struct {
		name, checksums, file string
		verdict               pins.Verdict
		says                  string
	}{
		{"same bytes", pin("content:" + sum), one, pins.Verified, ""},
		{"other bytes", pin("content:" + sum), two, pins.Verified, ""},
		{"other cell", pin("content:" + sum), other, pins.Differs, "it holds another table"},
		{"no table", pin("content:" + sum), "PAR1", pins.Differs, "it cannot be read as Parquet"},
		{"missing", pin("content:" + sum), gone, pins.Differs, "missing"},
		{"not known", pin("content:"), two, pins.Unpinned, "public/t.parquet holds content:" + sum},
		{"MD5", pin(strings.Repeat("0", 32)), one, pins.Differs, "it holds content:" + sum + "; the bytes of a Parquet file depend on the library"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := prepared{"public/t.parquet": tt.file, "private/a.csv": "a"}.with(prepared{})
			if tt.file == gone {
				delete(data, "public/t.parquet")
			}
			for place, d := range map[string]*pins.Data{"disk": data.onDisk(), "store": data.inStore(t, memory.New())} {
				report, err := pins.Run(t.Context(), pins.Request{Definition: definition(t, tt.checksums, nil), Data: d})
				if err != nil {
					t.Fatal(err)
				}
				said := report.Note
				for _, m := range report.Mismatches {
					said += string(m.Problem) + m.Explanation
				}
				if report.Verdict != tt.verdict || !strings.Contains(said, tt.says) {
					t.Errorf("%s: %s: %s; want %s: %s", place, report.Verdict, said, tt.verdict, tt.says)
				}
			}
		})
	}
}
