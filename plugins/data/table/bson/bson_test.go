package bson_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/table/bson"
)

// pymongoCases are documents and what pymongo makes of them; testdata/make.py
// made the file and it names the versions.
type pymongoCases struct {
	Cases []struct {
		Name string
		In   string
		Out  *string
	}
}

func readCases(t testing.TB) (cases pymongoCases) {
	t.Helper()
	data, err := os.ReadFile("testdata/pymongo.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil || len(cases.Cases) < 300 {
		t.Fatalf("%d cases: %v", len(cases.Cases), err)
	}
	return cases
}

// rewrite reads all documents and writes them again.
func rewrite(r io.Reader, without ...string) (out []byte, err error) {
	in := bson.NewReader(r)
	for {
		d, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil {
			out, err = bson.Append(out, d, without...)
		}
		if err != nil {
			return nil, err
		}
	}
}

func TestAppendAgainstPymongo(t *testing.T) {
	for _, c := range readCases(t).Cases {
		t.Run(c.Name, func(t *testing.T) {
			in, err := hex.DecodeString(c.In)
			if err != nil {
				t.Fatal(err)
			}
			out, err := rewrite(bytes.NewReader(in))
			switch {
			case c.Out == nil && err == nil:
				t.Errorf("wrote %x; pymongo refuses", out)
			case c.Out != nil && err != nil:
				t.Errorf("%v; pymongo writes %s", err, *c.Out)
			case c.Out != nil:
				if diff := cmp.Diff(*c.Out, hex.EncodeToString(out)); diff != "" {
					t.Errorf("-pymongo +got:\n%s", diff)
				}
			}
		})
	}
}

// number returns a document of one integer.
func number(name string, n int32) []byte {
	d := append([]byte{0, 0, 0, 0, byte(bson.Int32)}, name...)
	d = binary.LittleEndian.AppendUint32(append(d, 0), uint32(n))
	d = append(d, 0)
	binary.LittleEndian.PutUint32(d, uint32(len(d)))
	return d
}

func TestReader(t *testing.T) {
	file := slices.Concat(number("a", 1), number("bcd", 2), number("a", 3))
	r := bson.NewReader(iotest.OneByteReader(bytes.NewReader(file)))
	var got []int64
	var ends []int64
	for {
		d, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, r.Offset())
		_ = d.Each(func(e bson.Element) error {
			n, _ := e.Int()
			got = append(got, n)
			return nil
		})
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{12, 26, 38}, ends); diff != "" {
		t.Error(diff)
	}
}

func TestHostileFiles(t *testing.T) {
	good := number("a", 1)
	for _, c := range []struct{ name, file, want string }{
		{"cut length", string(good) + "\x05\x00", "document 1 at byte 12: cut short after 2 of 4 bytes"},
		{"cut document", string(good[:10]), "document 0 at byte 0: cut short after 10 of 12 bytes"},
		{"length without bytes", string(good) + "\xff\xff\xff\x7fabc", "document 1 at byte 12: cut short after 7 of 2147483647 bytes"},
		{"negative length", "\xff\xff\xff\xff", "document 0 at byte 0: a length of -1 bytes, the least is 5"},
		{"no zero", "\x05\x00\x00\x00x", "document 0 at byte 0: its last byte is 0x78, not 0"},
		{"name", "\x07\x00\x00\x00\x10a\x00", "a name without end"},
		{"type", "\x08\x00\x00\x00\x20a\x00\x00", `field "a": unknown type 0x20`},
		{"text", "\x0d\x00\x00\x00\x02a\x00\xff\xff\x00\x00a\x00", `field "a": its value is cut short`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := rewrite(strings.NewReader(c.file))
			runtime.ReadMemStats(&after)
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
				t.Errorf("asked for %d bytes", grown)
			}
		})
	}
}

// nested returns a document with this many levels of nested ones.
func nested(depth int, kind bson.Type) []byte {
	head := make([]byte, 0, 7*depth)
	size := 5 + 8*depth
	for range depth {
		head = binary.LittleEndian.AppendUint32(head, uint32(size))
		head = append(head, byte(kind), '0', 0)
		size -= 8
	}
	head = binary.LittleEndian.AppendUint32(head, 5)
	return append(head, make([]byte, depth+1)...)
}

func TestDepth(t *testing.T) {
	for _, kind := range []bson.Type{bson.Embedded, bson.Array} {
		deep := nested(bson.MaxDepth, kind)
		if got, err := rewrite(bytes.NewReader(deep)); err != nil || !bytes.Equal(got, deep) {
			t.Errorf("depth %d: %v", bson.MaxDepth, err)
		}
		if _, err := rewrite(bytes.NewReader(nested(100_000, kind))); err == nil || !strings.HasSuffix(err.Error(), "nested deeper than 500") {
			t.Errorf("depth 100000: %v", err)
		}
	}
}

func TestWithout(t *testing.T) {
	d := slices.Concat([]byte{19, 0, 0, 0}, number("a", 1)[4:11], number("b", 2)[4:11], []byte{0})
	got, err := rewrite(bytes.NewReader(d), "a", "x")
	if diff := cmp.Diff(number("b", 2), got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// FuzzAppend checks that nothing panics and that what was written is clean.
func FuzzAppend(f *testing.F) {
	for _, c := range readCases(f).Cases[:70] {
		in, _ := hex.DecodeString(c.In)
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		once, err := rewrite(bytes.NewReader(file))
		if err != nil {
			return
		}
		twice, err := rewrite(bytes.NewReader(once))
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("written again: %v\n%x\n%x", err, once, twice)
		}
	})
}
