package compare_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mleflow/mleflow/plugins/data/compare"
)

// TestHostile gives tables that are hard to read. Each must be compared in
// some way, without an error and without growing.
func TestHostile(t *testing.T) {
	for name, c := range map[string]struct{ file, want, got, text string }{
		"open quote":           {"f.csv", "a,b\n1,2\n", "a,b\n\"1,2\n", `want "1", got "1,2\n"`},
		"quote within a field": {"f.csv", "a\n1\"2\n", "a\n1\"3\n", `want "1\"2", got "1\"3"`},
		"NUL":                  {"f.csv", "a\n1\n", "a\n\x00\n", `got "\x00"`},
		"not UTF-8":            {"f.csv", "a\n1\n", "a\n\xff\xfe\n", `got "\xff\xfe"`},
		"only line ends":       {"f.csv", "\n\n", "\r\n\r\n", "line ends"},
		"no bytes":             {"f.csv", "", "a\n", "1 extra column"},
		"long line":            {"f.csv", "a\n" + strings.Repeat("x", compare.MaxRecord+1<<20), "a\n" + strings.Repeat("x", compare.MaxRecord+2<<20), "bytes follow after offset"},
		"many columns":         {"f.csv", strings.Repeat(",", compare.MaxColumns), strings.Repeat(",", compare.MaxColumns+1), "bytes follow after offset"},
		"deep JSON":            {"f.json", "[{\"a\":" + strings.Repeat("[", 20000), "[]", "the first byte that differs"},
		"JSON cut off":         {"f.jsonl", "{\"a\":1}\n{\"a\":", "{\"a\":1}\n", "ends too early"},
		"long JSON":            {"f.jsonl", "{\"a\":\"" + strings.Repeat("x", compare.MaxRecord+1<<20) + "\"}", "{}", "the first byte that differs"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := compare.Files(t.Context(), c.file, opener(c.want), opener(c.got))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(d.Text, c.text) || len(d.Text) > 1000 {
				t.Errorf("text %q\nlacks %q", d.Text, c.text)
			}
			want, err := compare.Summarise(t.Context(), c.file, opener(c.want))
			if err != nil {
				t.Fatal(err)
			}
			d, err = compare.WithSummary(t.Context(), c.file, want, opener(c.got))
			if err != nil || d.Text == "" || len(d.Text) > 1000 {
				t.Errorf("by summary: %v, %q", err, d.Text)
			}
		})
	}
}

// TestReadErrors come through: a file that cannot be read is not a difference.
func TestReadErrors(t *testing.T) {
	broken := errors.New("broken disk")
	bad := func(context.Context) (fs.File, error) {
		f, err := fstest.MapFS{"f": {Data: []byte(small)}}.Open("f")
		return failing{f, broken}, err
	}
	for _, name := range []string{"f.csv", "f.json", "f.jsonl", "f.bin"} {
		if _, err := compare.Files(t.Context(), name, opener(small), bad); !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := compare.Summarise(t.Context(), name, bad); !errors.Is(err, broken) {
			t.Errorf("%s: summary: got %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	if _, err := compare.Files(ctx, "f.csv", opener(small), opener("")); !errors.Is(err, broken) {
		t.Errorf("cancelled: got %v", err)
	}
}

type failing struct {
	fs.File
	err error
}

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// generated is a table of n rows that is made while it is read.
func generated(n, changed int) compare.Opener {
	return func(context.Context) (fs.File, error) {
		f, err := fstest.MapFS{"f": {}}.Open("f")
		return &generator{File: f, n: n, changed: changed}, err
	}
}

type generator struct {
	fs.File
	n, changed, row int
	rest            []byte
	each            func() // called every 20,000 rows, if set
}

func (g *generator) Read(p []byte) (int, error) {
	for len(g.rest) < len(p) && g.row <= g.n {
		switch {
		case g.row == 0:
			g.rest = append(g.rest, "id,x,y,text\n"...)
		case g.row == g.changed:
			g.rest = fmt.Appendf(g.rest, "%d,%d.5,changed,some text of a row\n", g.row, g.row%977)
		default: // by strconv, which allocates nothing
			g.rest = append(strconv.AppendInt(g.rest, int64(g.row), 10), ',')
			g.rest = append(strconv.AppendInt(g.rest, int64(g.row%977), 10), ".5,"...)
			g.rest = append(strconv.AppendInt(g.rest, int64(g.row%31), 10), ",some text of a row\n"...)
		}
		if g.row++; g.each != nil && g.row%20_000 == 0 {
			g.each()
		}
	}
	if len(g.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, g.rest)
	g.rest = append(g.rest[:0], g.rest[n:]...)
	return n, nil
}

// TestMemory compares tables of 4 MB and sees that memory stays flat.
func TestMemory(t *testing.T) {
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const rows = 100_000
	before, most := inUse(), uint64(0)
	got := func(ctx context.Context) (fs.File, error) {
		f, err := generated(rows, 70_000)(ctx)
		f.(*generator).each = func() { most = max(most, inUse()) }
		return f, err
	}
	d, err := compare.Files(t.Context(), "f.csv", generated(rows, 0), got)
	if err != nil || !strings.HasPrefix(d.Text, `row 70,000, column "y"`) || !strings.Contains(d.Text, "1 of 100,000 rows") {
		t.Errorf("%v, %+v", err, d)
	}
	if most > before+2<<20 {
		t.Errorf("%d bytes in use for %d rows", most-before, rows)
	}
}

// BenchmarkFiles compares two tables of 200 MB: go test -bench Files -benchtime 1x.
func BenchmarkFiles(b *testing.B) { benchmark(b, 5_000_000) }

// BenchmarkFilesSmall is the same at 2 MB.
func BenchmarkFilesSmall(b *testing.B) { benchmark(b, 50_000) }

func benchmark(b *testing.B, rows int) {
	size := rows * 40
	b.Run("bytes", func(b *testing.B) {
		b.SetBytes(int64(2 * size))
		b.ReportAllocs()
		for b.Loop() {
			if d, err := compare.Files(b.Context(), "f.csv", generated(rows, 0), generated(rows, rows)); err != nil || !strings.HasPrefix(d.Text, "row "+humanize.Comma(int64(rows))) {
				b.Fatal(err, d)
			}
		}
	})
	b.Run("summary", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := compare.Summarise(b.Context(), "f.csv", generated(rows, 0)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// FuzzTables checks that two tables with equal content by the bytes are equal
// by the summary, and that nothing fails.
func FuzzTables(f *testing.F) {
	f.Add("f.csv", small, strings.ReplaceAll(small, "\n", "\r\n"))
	f.Add("f.csv", "a,a\n1\n", "\"a\",a\n1,\n\n")
	f.Add("f.jsonl", "{\"a\":1}\n", "{ \"a\":1.0}")
	f.Add("f.json", "[{\"a\":1}]", "[{\"b\":1},{\"a\":1}]")
	f.Fuzz(func(t *testing.T, name, want, got string) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		byBytes, err := compare.Files(ctx, name, opener(want), opener(got))
		if err != nil {
			t.Fatal(err)
		}
		s, err := compare.Summarise(ctx, name, opener(want))
		if err != nil {
			t.Fatal(err)
		}
		bySummary, err := compare.WithSummary(ctx, name, s, opener(got))
		if err != nil {
			t.Fatal(err)
		}
		if want != got && byBytes.Same != bySummary.Same && compare.IsTable(name) {
			t.Errorf("by bytes %+v\nby summary %+v", byBytes, bySummary)
		}
	})
}
