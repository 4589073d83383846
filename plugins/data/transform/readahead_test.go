package transform

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestReadAhead(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int{0, 1, aheadBytes - 1, aheadBytes, aheadBytes + 1, 7*aheadBytes + 5} {
		data := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		for _, tt := range []struct {
			name string
			r    io.Reader
			want error
		}{
			{"whole", bytes.NewReader(data), nil},
			{"halves", iotest.HalfReader(bytes.NewReader(data)), nil},
			{"end with data", iotest.DataErrReader(bytes.NewReader(data)), nil},
			{"broken", io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), broken},
		} {
			a := newReadAhead(tt.r)
			got, err := io.ReadAll(a)
			a.Close()
			if !bytes.Equal(got, data) || !errors.Is(err, tt.want) {
				t.Errorf("%s of %d bytes: %d bytes, %v", tt.name, size, len(got), err)
			}
		}
	}
}

func TestReadAheadClosedEarly(t *testing.T) {
	for n := range 8 {
		a := newReadAhead(bytes.NewReader(make([]byte, 50*aheadBytes)))
		if _, err := io.CopyN(io.Discard, a, int64(n*aheadBytes)); err != nil {
			t.Fatal(err)
		}
		a.Close()
	}
}
