package table

import (
	"bytes"
	"slices"
	"testing"
	"testing/iotest"
)

// fuzzOptions makes options of a number.
func fuzzOptions(n uint16) ReadOptions {
	o := ReadOptions{Comma: ",;\t |"[n%5], NoHeader: n>>3&1 == 1, NoQuotes: n>>4&7 == 7, KeepNA: n>>7&7 == 7}
	if n>>10&1 == 1 {
		o.Floats = Fast
	}
	if n>>11&7 == 7 {
		o.AllText = true
	}
	if n>>14&1 == 1 {
		o.chunkCells = 5
	}
	return o
}

func fuzzSeeds(f *testing.F) {
	for i, s := range []string{
		"", "a", "a,b\n1,2\n", "a,b\r\n1,\"x\r\ny\"\r\n", "\ufeffa\n\n \n1", "a,a,\n1,2,3,4\n5", "a\n\"\"\n",
		"a\n\"x\"\"y\"z\n", "a\n\"", "x\rz\r\r,1\r", "a\n18446744073709551615\n-1\n\n", "a;b\n1e400;inf\nNA;True\n",
		"a\n1\n2\nx\nTrue\n1.5\n\x00\n\xff\n", "\"a\nb\",c\n1,\"\"\n", "a\n \"x\n\t\"y\"\n",
	} {
		f.Add([]byte(s), uint16(i)*977)
	}
}

func written(t *testing.T, tb *Table, o WriteOptions) []byte {
	var buf bytes.Buffer
	if err := WriteCSV(&buf, tb, o); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// FuzzReadCSV looks for panics, and for tables that depend on how the bytes
// come in.
func FuzzReadCSV(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, in []byte, n uint16) {
		o := fuzzOptions(n)
		tb, err := ReadCSV(bytes.NewReader(in), o)
		again, err2 := ReadCSV(iotest.OneByteReader(bytes.NewReader(in)), o)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("errors %v and %v", err, err2)
		}
		if err != nil {
			return
		}
		a, b := written(t, tb, WriteOptions{}), written(t, again, WriteOptions{})
		if !bytes.Equal(a, b) {
			t.Fatalf("read in one go %q, byte by byte %q", a, b)
		}
		for _, c := range slices.Concat(tb.Columns(), tb.Index()) {
			if c.Len() != tb.Len() || len(c.Values()) != tb.Len() || len(c.Floats()) != tb.Len() {
				t.Fatalf("column %q of %d rows in a table of %d", c.Name(), c.Len(), tb.Len())
			}
			c.ArgSort(false)
		}
	})
}

// FuzzRoundTrip checks that a written table reads back as it was. Bare
// carriage returns, which are written without quotes, are left out.
func FuzzRoundTrip(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, in []byte, n uint16) {
		in = bytes.ReplaceAll(in, []byte{'\r'}, nil)
		tb, err := ReadCSV(bytes.NewReader(in), fuzzOptions(n))
		if err != nil {
			return
		}
		a := written(t, tb, WriteOptions{Quoting: QuoteAll})
		o := ReadOptions{AllText: true, KeepNA: true}
		again, err := ReadCSV(bytes.NewReader(a), o)
		if err != nil {
			t.Fatalf("%q: %v", a, err)
		}
		if b := written(t, again, WriteOptions{Quoting: QuoteAll}); len(tb.Columns()) > 0 && !bytes.Equal(a, b) {
			t.Fatalf("wrote %q, then %q", a, b)
		}
	})
}
