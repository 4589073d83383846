package ujson

import (
	"fmt"
	"strings"
	"testing"
)

// page is a line as those of tensorflow2-question-answering: a long text with
// marks and a list of objects.
func page(words int) []byte {
	spans := strings.Repeat(`{"start_token":12,"top_level":true,"end_token":345},`, words/50)
	return []byte(`{"document_text":"` + strings.Repeat(`<P> “word” and </P> of \"it\" `, words/6) + `","spans":[` + strings.TrimSuffix(spans, ",") + `],"share":0.123456789,"id":-123456789012345678}`)
}

func BenchmarkRecord(b *testing.B) {
	for _, words := range []int{60, 6_000, 600_000} {
		line := page(words)
		var r Record
		var c Columns
		if err := r.Read(line); err != nil {
			b.Fatal(err)
		}
		c.Add(&r)
		b.Run(fmt.Sprint("read/", words), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if err := r.Read(line); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("write/", words), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			var out []byte
			var err error
			for b.Loop() {
				if out, err = c.AppendLine(out[:0], &r, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
