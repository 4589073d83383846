package pyjson

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// records is the text of n records of images.
func records(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `,{"file_name": "images/%03d/%02d/%d.jpg", "height": 1000, "id": %d, "share": %v, "name": "Añ \"%d\""}`, i%600, i%100, i, i, float64(i)/7, i)
	}
	b.WriteByte(']')
	b.Bytes()[0] = '['
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := records(n)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := records(n)
			v, err := Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Write(io.Discard, v, Style{Indent: 4, SortKeys: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkChange sets two members of every record and takes them out again.
func BenchmarkChange(b *testing.B) {
	v, err := Parse(records(10_000))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, record := range v.Items() {
			if changed := record.WithAll(Member{"id", OfInt(1)}, Member{"more", Value{}}).Without("more"); changed.Len() != record.Len() {
				b.Fatal(changed.Len())
			}
		}
	}
}

// BenchmarkParseNames reads an object with a name for each of many records.
func BenchmarkParseNames(b *testing.B) {
	var text bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&text, `,"id_%07d": {"label": "c%d", "boxes": [%d, 2]}`, i, i%100, i)
	}
	text.WriteByte('}')
	text.Bytes()[0] = '{'
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
