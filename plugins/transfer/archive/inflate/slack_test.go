package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"testing"
)

// bitWriter writes numbers, the lowest bit first.
type bitWriter struct {
	out  []byte
	bits int
}

func (w *bitWriter) put(v, n int) {
	for i := range n {
		if w.bits%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[len(w.out)-1] |= byte(v>>i&1) << (w.bits % 8)
		w.bits++
	}
}

// shortCodes is a stream of zeros whose literal takes one bit: literals, the longest
// match, 400 more literals, and the end.
func shortCodes(before int) []byte {
	w := new(bitWriter)
	w.put(1, 1)  // the last block,
	w.put(2, 2)  // with codes of its own:
	w.put(29, 5) // 286 literals and lengths,
	w.put(0, 5)  // 1 distance,
	w.put(14, 4) // 18 lengths of codes
	for _, s := range order[:18] {
		w.put(map[uint8]int{18: 1, 1: 2, 2: 2}[s], 3)
	}
	zeros := func(n int) { w.put(0, 1); w.put(n-11, 7) }
	w.put(1, 2) // literal 0 has one bit,
	zeros(138)
	zeros(117)
	w.put(3, 2) // the end of the block two,
	zeros(28)
	w.put(3, 2) // the longest match two,
	w.put(1, 2) // and distance 1 one
	w.put(0, before)
	w.put(3, 2)
	w.put(0, 1)
	w.put(0, 400)
	w.put(1, 2)
	return w.out
}

// TestSlack decodes into outputs of exactly the size that Decode asks for, which end
// at every place of a stream with as many literals a look as there can be.
func TestSlack(t *testing.T) {
	for before := 1; before < 60; before++ {
		packed := shortCodes(before)
		want, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
		if err != nil || len(want) != before+258+400 {
			t.Fatalf("the standard library: %d bytes, %v", len(want), err)
		}
		for size := range len(want) + 1 {
			n, err := Decode(make([]byte, size+Slack), packed)
			if long := size < len(want); n != size || errors.Is(err, ErrLong) != long || !long && err != nil {
				t.Errorf("%d literals first, %d bytes: %d, %v", before, size, n, err)
			}
		}
	}
}
