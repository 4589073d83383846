package table

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadErrors(t *testing.T) {
	long := "a\n" + strings.Repeat("1\n", 3000)
	for _, tc := range []struct {
		name, in string
		o        ReadOptions
		want     string
	}{
		{"long record", "a,b\n1,2\n\n3,4,5\n", ReadOptions{}, "read CSV: line 4: expected 2 fields, saw 3"},
		{"long record far down", long + "1,2\n", ReadOptions{}, "read CSV: line 3002: expected 1 fields, saw 2"},
		{"open quote", "a,b\n1,2\n3,\"x\n4,5\n", ReadOptions{}, "read CSV: line 3: a quoted field is not closed"},
		{"open quote in header", "a,\"b\n1,2\n", ReadOptions{}, "read CSV: line 1: a quoted field of the header is not closed"},
		{"not UTF-8", "a,b\n1,2\n3,\xff\n", ReadOptions{}, "read CSV: line 3: byte 0xff is not UTF-8"},
		{"header not UTF-8", "a,\xc3\n1,2\n", ReadOptions{}, "read CSV: line 1: byte 0xc3 is not UTF-8"},
		{"forced kind", "a,b\n1,2\n3,x\n", ReadOptions{Kinds: map[string]Kind{"b": Float64}},
			`read CSV: column "b": after line 1: row 2: cannot read "x" as float64`},
		{"forced int with gap", "a,b\n1,2\n3,\n", ReadOptions{Kinds: map[string]Kind{"b": Int64}},
			`read CSV: column "b": after line 1: row 2: cannot read "" as int64`},
		{"forced mixed", "a\n1\n", ReadOptions{Kinds: map[string]Kind{"a": Mixed}}, `read CSV: column "a": cannot be read as mixed`},
		{"separator", "a\n", ReadOptions{Comma: '"'}, `read CSV: '"' cannot be a separator`},
		{"names", "a\n1\n", ReadOptions{Names: []string{"x", "y"}},
			"read CSV: more column names are given than the file has fields: 2 and 1"},
		{"same names", "1,2\n", ReadOptions{NoHeader: true, Names: []string{"x", "x"}}, `read CSV: build table: two columns are named "x"`},
		{"bomb", strings.Repeat(",", 1<<17) + "\n" + strings.Repeat("1\n", 1<<9), ReadOptions{},
			"read CSV: line 13: most records have far fewer fields than the first one"},
		{"too wide", strings.Repeat(",", 1<<18) + "\n", ReadOptions{}, "read CSV: line 1: more than 262144 fields"},
	} {
		_, err := ReadCSV(strings.NewReader(tc.in), tc.o)
		if got := fmt.Sprint(err); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// TestForcedInts compares with pandas 2.2.3, read_csv(…, dtype={"b": int}).
func TestForcedInts(t *testing.T) {
	for in, want := range map[string]string{
		"1.0":  "b\n1\n-2\n",
		"1e2":  "b\n100\n-2\n",
		"-0.0": "b\n0\n-2\n",
		"1.5":  `read CSV: column "b": after line 1: row 1: cannot read "1.5" as int64`,
		"1e19": `read CSV: column "b": after line 1: row 1: cannot read "1e19" as int64`,
		"true": `read CSV: column "b": after line 1: row 1: cannot read "true" as int64`,
	} {
		var got bytes.Buffer
		tb, err := ReadCSV(strings.NewReader("b\n"+in+"\n-2\n"), ReadOptions{Kinds: map[string]Kind{"b": Int64}})
		if err == nil {
			err = WriteCSV(&got, tb, WriteOptions{})
		}
		if err != nil {
			got.WriteString(err.Error())
		}
		if got.String() != want {
			t.Errorf("%s: got %q, want %q", in, got.String(), want)
		}
	}
	if got := read(t, "b\nTRUE\nfalse\n", ReadOptions{Kinds: map[string]Kind{"b": Int64}}); got.Columns()[0].Text(0)+got.Columns()[0].Text(1) != "10" {
		t.Error("booleans are not 1 and 0")
	}
}

func TestReadEmpty(t *testing.T) {
	for _, in := range []string{"", "\n \n\r\n", "\ufeff"} {
		tb := read(t, in, ReadOptions{})
		if len(tb.Columns()) != 0 || tb.Len() != 0 {
			t.Errorf("%q: %d columns and %d rows", in, len(tb.Columns()), tb.Len())
		}
	}
}

type brokenReader struct{ left int }

func (r *brokenReader) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, errors.New("disk on fire")
	}
	n := copy(b[:min(len(b), r.left)], strings.Repeat("1,2\n", len(b)/4+1))
	r.left -= n
	return n, nil
}

func TestReaderAndWriterErrors(t *testing.T) {
	if _, err := ReadCSV(&brokenReader{left: 3 << 20}, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("got %v", err)
	}
	tb := read(t, "a,b\n"+strings.Repeat("1,2\n", 100_000), ReadOptions{})
	if err := WriteCSV(brokenWriter{}, tb, WriteOptions{NoHeader: true}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestFiles reads what it wrote, for which rows and cells are enough to take
// several blocks and chunks.
func TestFiles(t *testing.T) {
	var want bytes.Buffer
	want.WriteString("id,text,x\n")
	for i := range 300_000 {
		fmt.Fprintf(&want, "%d,\"line %d\n\",%s\n", i, i%7, FormatFloat(float64(i)/8))
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	tb, err := ReadCSVFile(path, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	back := filepath.Join(t.TempDir(), "u.csv")
	if err := WriteCSVFile(back, tb, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(back); !bytes.Equal(got, want.Bytes()) {
		t.Error("another file was written than read")
	}
	rows := make([]int, tb.Len())
	for i := range rows {
		rows[i] = (i * 7919) % len(rows)
	}
	scattered := written(t, tb.Take(rows), WriteOptions{})
	sorted, err := must(t)(ReadCSV(bytes.NewReader(scattered), ReadOptions{})).SortBy("id")
	if err != nil || !bytes.Equal(written(t, sorted, WriteOptions{}), want.Bytes()) {
		t.Errorf("rows taken and sorted differ: %v", err)
	}
}

// TestManyBatches reads a column whose kind is only known at its end, so that
// its cells are looked at twice, with quotes to undo in every one.
func TestManyBatches(t *testing.T) {
	var in, want bytes.Buffer
	in.WriteString("a,b\n")
	want.WriteString("a,b\n")
	for i := range 20_000 {
		line := fmt.Sprintf("\"x\"\"%d\",", i)
		in.WriteString(line)
		want.WriteString(line)
		if i < 19_999 {
			fmt.Fprintf(&in, "\"00\"%d\n", i)
			fmt.Fprintf(&want, "00%d\n", i)
		} else {
			in.WriteString("\"y\"z\n")
			want.WriteString("yz\n")
		}
	}
	if got := text(t, read(t, in.String(), ReadOptions{})); got != want.String() {
		t.Error("the table differs from the file")
	}
}
