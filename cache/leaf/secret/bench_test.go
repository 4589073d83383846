package secret

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

func BenchmarkWriter(b *testing.B) {
	line := []byte("epoch 12 loss 0.123 accuracy 0.987 learning rate 1e-4 the quick brown fox\n")
	text := bytes.Repeat(line, 400)
	for _, n := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("secrets=%d", n), func(b *testing.B) {
			var values []string
			for i := range n {
				values = append(values, fmt.Sprintf("%csk-0123456789-%d", 'a'+3*i, i))
			}
			m := NewWriter(io.Discard, New(values...))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := m.Write(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
