package pyjson

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readSmall reads a string in windows that begin with size bytes.
func readSmall(text string, size int, one bool) (Value, error) {
	p := newParser()
	p.window = window{src: strings.NewReader(text), first: size}
	if one {
		p.src = iotest.OneByteReader(p.src)
	}
	return p.whole()
}

// outcome is what was read, written again, or why not.
func outcome(v Value, err error) string {
	if err != nil {
		return err.Error()
	}
	return written(v, Style{})
}

var windowTexts = []string{
	`{"a": [1, -2.5e-7, 12345678901234567890123, "x\ud83d\ude00y\ud83d", null, true], "é\u00e9🎉": {"b": "` + strings.Repeat("long ", 50) + `"}}`,
	"[\n 1,\n\n  [true, NaN, -Infinity, Infinity],\n \"\\u2028\"  \n]\n   ",
	strings.Repeat(" \n", 40) + "7" + strings.Repeat("\n ", 40),
	`[1.5e]`, `[1.]`, `[-]`, `"\u12`, `"\u12zz"`, `"\`, `"a` + "\n" + `b"`, `[1, 2`, `{"a"`, `{"a": 1,}`, `[1 2]`, `tru`, `nul`, ``, ` `, "\ufeff[]", "[] []",
	"[\"\xe9\"]", "[1,\n2, \"abc\xf0\x9f\"]", "[]\xff", "\xff", "[\"\xed\xa0\x80\"]",
	`[0123]`, `[1e400, -0, 0.0, 1E+5]`, "[\"\x01\"]",
}

// TestRead reads a piece at a time what Parse reads at once: the same value, or
// the same fault at the same place.
func TestRead(t *testing.T) {
	for _, text := range windowTexts {
		want := outcome(Parse([]byte(text)))
		if got := outcome(ReadHead(strings.NewReader(text), 0)); got != want {
			t.Errorf("%q\nwant %s\ngot  %s", text, want, got)
		}
		for size := 1; size < 40; size++ {
			if got := outcome(readSmall(text, size, size%3 == 0)); got != want {
				t.Errorf("%q, windows of %d bytes\nwant %s\ngot  %s", text, size, want, got)
			}
		}
	}
}

// TestReadFails: a file that cannot be read on is an error, whatever was seen of it.
func TestReadFails(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{``, `[1, 2`, `[1, 2]`, `"abc`} {
		r := iotest.DataErrReader(strings.NewReader(text))
		_, err := ReadHead(&failing{r, broken}, 0)
		if !errors.Is(err, broken) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// failing is a reader that fails where its text ends.
type failing struct {
	io.Reader
	err error
}

func (f *failing) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if err != nil {
		err = f.err
	}
	return n, err
}

// FuzzRead compares Read in small windows with Parse.
func FuzzRead(f *testing.F) {
	for _, text := range windowTexts {
		f.Add(text, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		want := outcome(Parse([]byte(text)))
		got := outcome(readSmall(text, 1+int(size), size%2 == 0))
		if strings.HasSuffix(want, "is not UTF-8") && strings.HasPrefix(got, "parse JSON: ") {
			return // another fault may come before the byte
		}
		if got != want {
			t.Fatalf("%q, windows of %d bytes\nwant %s\ngot  %s", text, 1+int(size), want, got)
		}
	})
}

// TestReadHead reads the first items of a list, and nothing that follows.
func TestReadHead(t *testing.T) {
	for _, tt := range []struct {
		text string
		head int
		want string
	}{
		{`[1, [2, 3], 4]`, 1, "[1]"},
		{`[1, [2, 3], 4]`, 2, "[1, [2, 3]]"},
		{`[1, [2, 3], 4]`, 3, "[1, [2, 3], 4]"},
		{`[1, [2, 3], 4]`, 9, "[1, [2, 3], 4]"},
		{`[{"a": [1, 2]}, wrong`, 1, `[{"a": [1, 2]}]`},
		{`[] x`, 1, "parse JSON: line 1, byte 4: more text after the value"},
		{`{"a": [1, 2]}`, 1, `{"a": [1, 2]}`},
	} {
		if got := outcome(ReadHead(strings.NewReader(tt.text), tt.head)); got != tt.want {
			t.Errorf("%s, %d: got %s, want %s", tt.text, tt.head, got, tt.want)
		}
	}
}
