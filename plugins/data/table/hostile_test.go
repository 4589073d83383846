package table

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// hostileCase is a line of testdata/hostile.jsonl: a file in pieces, and what
// pandas made of it. MD5 stands for the text where that is long.
type hostileCase struct {
	Name string `json:"name"`
	In   []repeated
	pandasAnswer
	Rows  int    `json:"rows"`
	Width int    `json:"width"`
	MD5   string `json:"md5"`
}

// repeated is a piece: some bytes, so many times.
type repeated struct {
	bytes []byte
	times int
}

func (p *repeated) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.bytes, &p.times})
}

func (c *hostileCase) file() []byte {
	var b bytes.Buffer
	for _, p := range c.In {
		for range p.times {
			b.Write(p.bytes)
		}
	}
	return b.Bytes()
}

func hostileCases(t *testing.T) []hostileCase {
	t.Helper()
	data, err := os.ReadFile("testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var cases []hostileCase
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte{'\n'}) {
		if i == 0 {
			continue // how the file was made
		}
		var c hostileCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// TestHostile reads hostile files: each is refused where pandas refuses it,
// with an error that names the line, or gives the table that pandas gives.
// None takes more memory than a small multiple of its size.
func TestHostile(t *testing.T) {
	cases := hostileCases(t)
	if len(cases) < 150 {
		t.Errorf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			in := c.file()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tb, err := ReadCSV(bytes.NewReader(in), ReadOptions{})
			runtime.ReadMemStats(&after)
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+32*len(in)); got > most {
				t.Errorf("reading %d bytes allocated %d bytes, more than %d", len(in), got, most)
			}
			c.compare(t, tb, err)
		})
	}
}

var (
	namesLine   = regexp.MustCompile(`\bline \d+`)
	pandasPlace = regexp.MustCompile(`line (\d+), saw`)
)

func (c *hostileCase) compare(t *testing.T, tb *Table, err error) {
	t.Helper()
	switch {
	case strings.HasPrefix(c.Err, "EmptyDataError"):
		if err != nil || len(tb.Columns()) != 0 {
			t.Errorf("got %v, want a table without columns", err)
		}
	case c.Err != "":
		if err == nil {
			t.Fatalf("it was read; pandas says %s", c.Err)
		}
		if !namesLine.MatchString(err.Error()) {
			t.Errorf("the error names no line: %v", err)
		}
		if m := pandasPlace.FindStringSubmatch(c.Err); m != nil && !strings.Contains(err.Error(), "line "+m[1]+":") {
			t.Errorf("got %v, pandas says %s", err, c.Err)
		}
	case err != nil:
		t.Errorf("pandas reads it: %v", err)
	default:
		c.compareTable(t, tb)
	}
}

func (c *hostileCase) compareTable(t *testing.T, tb *Table) {
	t.Helper()
	text := string(written(t, tb, WriteOptions{}))
	got := hostileCase{Name: c.Name, In: c.In, Rows: tb.Len(), Width: len(tb.Columns())}
	got.Lead = len(tb.Index())
	if c.MD5 != "" {
		sum := md5.Sum([]byte(text))
		got.MD5 = hex.EncodeToString(sum[:])
	} else {
		got.CSV, got.Names = text, tb.Names()
		for _, col := range tb.Columns() {
			got.Dtypes = append(got.Dtypes, dtype(col))
			got.Types = append(got.Types, typeLetters(col))
		}
	}
	if diff := cmp.Diff(*c, got, cmp.AllowUnexported(hostileCase{}, repeated{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-pandas +got):\n%s", diff)
	}
}

// TestManyColumns reads more columns than pandas can in reasonable time.
func TestManyColumns(t *testing.T) {
	for _, n := range []int{100_000, maxColumns} {
		in := strings.Repeat("c,", n-1) + "c\n" + strings.Repeat("1,", n-1) + "1\n"
		tb, err := ReadCSV(strings.NewReader(in), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if names := tb.Names(); len(names) != n || names[n-1] != fmt.Sprintf("c.%d", n-1) || tb.Len() != 1 {
			t.Errorf("%d columns and %d rows, the last is called %q", len(names), tb.Len(), names[len(names)-1])
		}
	}
}

// TestNoFile reads what is not a regular file: a clear error, at once.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("t.csv"), []byte("a\n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]error{
		"folder": os.Mkdir(at("folder.csv"), 0o755), "fifo": syscall.Mkfifo(at("fifo.csv"), 0o644),
		"link": os.Symlink("t.csv", at("link.csv")), "loop": os.Symlink("loop.csv", at("loop.csv")),
		"broken": os.Symlink("none.csv", at("broken.csv")), "to fifo": os.Symlink("fifo.csv", at("to-fifo.csv")),
	} {
		if make != nil {
			t.Fatalf("%s: %v", name, make)
		}
	}
	if tb, err := ReadCSVFile(at("link.csv"), ReadOptions{}); err != nil || tb.Len() != 1 {
		t.Errorf("a link to a file: %v", err)
	}
	for _, tt := range []struct{ path, want string }{
		{at("none.csv"), "no such file"}, {at("broken.csv"), "no such file"}, {at("loop.csv"), "too many levels"},
		{at("t.csv/t.csv"), "not a directory"}, {at("a\x00b.csv"), "invalid argument"}, {strings.Repeat("x", 5000), "name too long"},
		{at("folder.csv"), "not a regular file"}, {at("fifo.csv"), "not a regular file"}, {at("to-fifo.csv"), "not a regular file"},
		{"/dev/zero", "not a regular file"},
	} {
		_, err := ReadCSVFile(tt.path, ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.path) {
			t.Errorf("%q: got %v, want an error with the path and %q", tt.path, err, tt.want)
		}
	}
}
