package table

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPieces compares large files, which are read in pieces, with the same bytes
// from a stream, which are read in pandas' chunks.
func TestPieces(t *testing.T) {
	const n, hex = 100_000, "%08x-aaaaaaaaaaaaaaaaaaaaaaaa,%d,0.%d\n"
	lines := func(line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	plain := func(i int) string { return fmt.Sprintf(hex, i*7919, i%300, i*31%1000+1) }
	but := func(at int, other string) string {
		return lines(func(i int) string {
			if i == at {
				return other
			}
			return plain(i)
		})
	}
	pieces := map[string]bool{"plain": true, "blank lines at end": true, "no end": true, "gaps": true}
	for name, body := range map[string]string{
		"plain":                lines(plain),
		"identifiers":          lines(func(i int) string { return fmt.Sprintf("%032x.jpg,1,2\n", n-i) }),
		"far identifiers":      lines(func(i int) string { return fmt.Sprintf("%016x%016x,1,2\n", i*i*977%n, i%7<<60+i*1_000_003) }),
		"same identifiers":     lines(func(i int) string { return fmt.Sprintf("a-%09x,1,2\n", i*31%1000) }),
		"one other identifier": strings.Replace(lines(func(i int) string { return fmt.Sprintf("a-%09x-z,1,2\n", i) }), "0fff-", "0ffF-", 1),
		"no end":               strings.TrimSuffix(lines(plain), "\n"),
		"CRLF":                 strings.ReplaceAll(lines(plain), "\n", "\r\n"),
		"quotes":               lines(func(i int) string { return `"a, ""b""",1,` + fmt.Sprint(i) + "\n" }),
		"blank lines":          strings.ReplaceAll(lines(plain), "7-", "7-\xc3\xa4") + "\n\n",
		"blank lines at end":   lines(plain) + "\n\n\n",
		"blank line":           but(60_000, "\n"),
		"line of blanks":       but(60_000, "  \t\n"),
		"text among integers":  but(70_000, "x,y,0.5\n"),
		"gap among integers":   but(70_000, "x,,0.5\n"),
		"large integer":        but(70_000, "x,99999999999999999999,0.5\n"),
		"negative numbers":     but(70_000, "x,-3,-0.5\n"),
		"integers of any size": lines(func(i int) string { return fmt.Sprintf("x,%d,0.1\n", (i*i*i*i)%1_000_000_007*(1-i%2*2)) }),
		"other numbers":        lines(func(i int) string { return []string{"x,1,1e5\n", "y,+2,.5\n", "z, 3,5.\n", "a,04,-0\n"}[i%4] }),
		"gaps":                 lines(func(i int) string { return []string{"x,1,0.5\n", "NA,2,nan\n", ",3,\n"}[i%3] }),
		"whole floats":         lines(func(i int) string { return fmt.Sprintf("x,%d,%d.0\n", i, i) }),
		"floats after a while": lines(func(i int) string { return fmt.Sprintf("x,1,%v\n", float64(i)/50_000) }),
		"many digits":          lines(func(i int) string { return fmt.Sprintf("x,1,%v\n", 1/float64(i+3)) }),
		"infinity":             but(70_000, "x,1,inf\n"),
		"no text":              but(70_000, "NA,1,0.5\n"),
		"longer text":          but(70_000, "0x,1,0.5\n"),
		"upper case":           but(70_000, "0000000A-aaaaaaaaaaaaaaaaaaaaaaaa,1,0.5\n"),
		"number as text":       but(70_000, "17,1,0.5\n"),
		"booleans":             lines(func(i int) string { return fmt.Sprintf("%v,1,2\n", i%2 == 0) }),
		"short record":         but(70_000, "x,1\n"),
		"long record":          but(70_000, "x,1,0.5,3\n"),
		"first record long":    "a,1,0.5,3\n" + lines(plain),
		"NUL":                  but(70_000, "a\x00b,1,0.5\n"),
		"not UTF-8":            but(70_000, "a\xff,1,0.5\n"),
		"open quote":           but(70_000, "\"a,1,0.5\n"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, header := range []string{"id,number,share\n", ""} {
				body := strings.Repeat(body, 1+piecesFile/len(body))
				path := filepath.Join(t.TempDir(), "t.csv")
				if err := os.WriteFile(path, []byte(header+body), 0o600); err != nil {
					t.Fatal(err)
				}
				f, err := os.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				got, gotErr := ReadCSV(f, ReadOptions{NoHeader: header == ""})
				want, wantErr := ReadCSV(strings.NewReader(header+body), ReadOptions{NoHeader: header == ""})
				if g, w := spelledTable(got, gotErr), spelledTable(want, wantErr); !slices.Equal(g, w) {
					t.Fatal(cmp.Diff(w, g))
				}
				if _, err := f.Seek(0, io.SeekStart); err != nil {
					t.Fatal(err)
				}
				if fine, _ := readPieces(f, ReadOptions{NoHeader: header == ""}); fine == nil && pieces[name] {
					t.Error("the file is read twice")
				}
				if wantErr == nil {
					sameOrder(t, want.cols[0], got.cols[0])
				}
			}
		})
	}
}

// spelledTable is all that a reader finds, apart from how it is stored.
func spelledTable(tb *Table, err error) []string {
	if err != nil {
		return []string{err.Error()}
	}
	out := make([]string, 0, 2*len(tb.cols)+1)
	for _, c := range append(tb.Columns(), tb.Index()...) {
		out = append(out, fmt.Sprint(c.Name(), " ", c.Kind(), " ", c.Len(), " ", c.MissingCount()))
	}
	var b bytes.Buffer
	if err := WriteCSV(&b, tb, WriteOptions{}); err != nil {
		return append(out, err.Error())
	}
	return append(out, strings.SplitAfter(b.String(), "\n")...)
}

// sameOrder checks that two columns of the same cells have them in one order, and
// that strings are told apart.
func sameOrder(t *testing.T, want, got *Column) {
	w, err := want.ArgSort(false)
	g, gotErr := got.ArgSort(false)
	if fmt.Sprint(err) != fmt.Sprint(gotErr) || !slices.Equal(g, w) {
		t.Errorf("the order of column %q differs: %v, %v", want.name, err, gotErr)
	}
	if want.kind != Text || want.MissingCount() > 0 {
		return
	}
	if row := FirstUnlike(want, got); row >= 0 {
		t.Errorf("row %d: %q is unlike %q", row, want.Text(row), got.Text(row))
	}
	other := got.over(append([]int32{0, 1, 3, 2}, ascending(got.n)[4:]...))
	if row := FirstUnlike(got, other); row != 2 && got.Text(2) != got.Text(3) {
		t.Errorf("row %d instead of 2 is the first to be unlike", row)
	}
}

func TestHexNumber(t *testing.T) {
	for n := leastHex; n <= mostHex; n++ {
		text := "0123456789abcdeffedcba9876543210"[:n]
		h := newHexTexts([]byte("x."+text+".png"), 1)
		if h == nil {
			t.Fatalf("%q is no identifier", text)
		}
		raw := []byte("x." + text + ".png,")
		if end, ok := h.read(raw, 0); !ok || end != len(raw)-1 || string(h.bytes(0)) != string(raw[:end]) {
			t.Errorf("%q was read as %q to %d, %v", raw, h.bytes(0), end, ok)
		}
		for i := range n {
			for _, c := range []byte("/:`gAF\x00\x80\xb0") {
				bad := slices.Clone(raw)
				bad[2+i] = c
				if _, ok := h.read(bad, 0); ok {
					t.Errorf("%q was read", bad)
				}
			}
		}
	}
}
