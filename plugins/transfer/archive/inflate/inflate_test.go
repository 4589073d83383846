package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// samples are texts of many kinds, by name.
func samples() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise, digits, runs, few, skewed := make([]byte, 200_000), []byte(nil), []byte(nil), make([]byte, 100_000), make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for len(digits) < 300_000 {
		digits = append(strconv.AppendInt(digits, int64(r.Uint32N(100_000)), 10), ',')
	}
	for i := 0; len(runs) < 300_000; i++ {
		runs = append(runs, bytes.Repeat([]byte(fmt.Sprintf("%04d", i)[i%4:]), 1+int(r.Uint32N(400)))...)
	}
	for i := range few {
		few[i] = "ab"[r.Uint32N(2)]
	}
	for i := range skewed { // codes of up to 15 bits
		for skewed[i] = 0; skewed[i] < 200 && r.Uint32N(3) > 0; skewed[i]++ {
		}
	}
	return map[string][]byte{
		"nothing": {}, "a byte": {'x'}, "noise": noise, "digits": digits, "runs": runs, "one byte again and again": make([]byte, 1_000_000), "two letters": few, "skewed": skewed,
		"text": []byte(strings.Repeat("It was the best of times, it was the worst of times. ", 4000)), "mixed": bytes.Join([][]byte{noise[:50_000], digits, runs, noise}, nil),
	}
}

func compress(t testing.TB, text []byte, level int) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err == nil {
		_, err = w.Write(text)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// same compares what the standard library and the two forms here make of a stream.
func same(t *testing.T, packed []byte) {
	t.Helper()
	want, wantErr := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	dst := make([]byte, len(want)+300+Slack)
	n, err := Decode(dst, packed)
	agree(t, "Decode", dst[:n], err, want, wantErr)
	readers := map[string]io.Reader{"Reader": bytes.NewReader(packed), "Reader of halves": iotest.HalfReader(bytes.NewReader(packed)), "Reader with an early end": iotest.DataErrReader(bytes.NewReader(packed))}
	if len(packed) < 100_000 {
		readers["Reader of bytes"] = iotest.OneByteReader(bytes.NewReader(packed))
	}
	for name, r := range readers {
		got, err := io.ReadAll(NewReader(r))
		agree(t, name, got, err, want, wantErr)
	}
}

// agree wants the same bytes and both or none to fail. Of a stream that is cut off
// or corrupt, one may give a few bytes more than the other.
func agree(t *testing.T, what string, got []byte, err error, want []byte, wantErr error) {
	t.Helper()
	switch {
	case (err == nil) != (wantErr == nil) && !(errors.Is(err, ErrLong) && wantErr != nil):
		t.Errorf("%s: error %v, want %v", what, err, wantErr)
	case err == nil && !bytes.Equal(got, want):
		t.Errorf("%s: %d bytes, not the %d that it should be", what, len(got), len(want))
	case !bytes.HasPrefix(got, want) && !bytes.HasPrefix(want, got):
		t.Errorf("%s: other bytes before %v", what, err)
	}
}

func TestSamples(t *testing.T) {
	for name, text := range samples() {
		for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
			t.Run(fmt.Sprintf("%s/%d", name, level), func(t *testing.T) {
				packed := compress(t, text, level)
				same(t, packed)
				got, err := io.ReadAll(NewReader(bytes.NewReader(packed)))
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("%v, %d bytes of %d", err, len(got), len(text))
				}
				if _, err := Decode(make([]byte, max(0, len(text)-1)+Slack), packed); len(text) > 0 && !errors.Is(err, ErrLong) {
					t.Errorf("with a byte too little: %v", err)
				}
			})
		}
	}
}

// TestDamaged cuts streams off at every byte of their beginning and end, and flips
// bits.
func TestDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, text := range samples() {
		text = text[:min(len(text), 3000)]
		for _, level := range []int{flate.NoCompression, flate.HuffmanOnly, 6} {
			packed := compress(t, text, level)
			for i := range packed {
				if i < 150 || len(packed)-i < 50 {
					same(t, packed[:i])
				}
			}
			for range 300 {
				bad := bytes.Clone(packed)
				bad[int(r.Uint32N(uint32(min(len(bad), 200))))] ^= 1 << r.Uint32N(8)
				same(t, bad)
			}
		}
	}
}

// TestReset reads a stream after one that was left in the middle or was corrupt.
func TestReset(t *testing.T) {
	text := samples()["mixed"]
	packed := compress(t, text, 6)
	r := NewReader(bytes.NewReader(packed))
	for _, before := range []string{"half", "corrupt", "failing"} {
		switch before {
		case "half":
			_, _ = io.ReadFull(r, make([]byte, 70_000))
		case "corrupt":
			r.Reset(bytes.NewReader([]byte{0xff, 1, 2}))
			if _, err := io.ReadAll(r); !errors.Is(err, ErrCorrupt) {
				t.Errorf("corrupt: %v", err)
			}
		case "failing":
			broken := errors.New("broken")
			r.Reset(io.MultiReader(bytes.NewReader(packed[:1000]), iotest.ErrReader(broken)))
			if _, err := io.ReadAll(r); !errors.Is(err, broken) {
				t.Errorf("failing: %v", err)
			}
		}
		r.Reset(bytes.NewReader(packed))
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
			t.Errorf("after a %s stream: %v, %d bytes", before, err, len(got))
		}
	}
}

func FuzzInflate(f *testing.F) {
	for _, text := range samples() {
		text = text[:min(len(text), 2000)]
		for _, level := range []int{flate.NoCompression, flate.HuffmanOnly, 1, 9} {
			f.Add(compress(f, text, level))
		}
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		if n, _ := io.Copy(io.Discard, io.LimitReader(flate.NewReader(bytes.NewReader(packed)), 4<<20)); n < 4<<20 {
			same(t, packed)
		}
	})
}
