package inflate

import (
	"bytes"
	"compress/flate"
	"io"
	"testing"

	kflate "github.com/klauspost/compress/flate"
)

// BenchmarkReader decodes a stream, next to the decoders of klauspost/compress and of
// the standard library, and reports how many times as fast as these it is.
func BenchmarkReader(b *testing.B) {
	all := samples()
	for _, name := range []string{"digits", "text", "mixed", "noise", "skewed"} {
		text := bytes.Repeat(all[name], 10)
		packed := compress(b, text, 6)
		ours, theirs, std := NewReader(nil), kflate.NewReader(bytes.NewReader(nil)), flate.NewReader(bytes.NewReader(nil))
		took := map[string]float64{}
		for _, peer := range []struct {
			name  string
			reset func(io.Reader) io.Reader
		}{
			{"klauspost", func(r io.Reader) io.Reader { _ = theirs.(kflate.Resetter).Reset(r, nil); return theirs }},
			{"std", func(r io.Reader) io.Reader { _ = std.(flate.Resetter).Reset(r, nil); return std }},
			{"ours", func(r io.Reader) io.Reader { ours.Reset(r); return ours }},
		} {
			b.Run(name+"/"+peer.name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if n, err := io.Copy(io.Discard, peer.reset(bytes.NewReader(packed))); err != nil || n != int64(len(text)) {
						b.Fatal(n, err)
					}
				}
				took[peer.name] = b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(float64(len(text))/1e6/took[peer.name], peer.name+"-MB/s")
				for other, t := range took {
					b.ReportMetric(t/took[peer.name], "times-"+other)
				}
			})
		}
	}
}

// BenchmarkDecode decodes a file of 10 KB.
func BenchmarkDecode(b *testing.B) {
	text := samples()["digits"][:10_000]
	packed, dst := compress(b, text, 6), make([]byte, len(text)+Slack)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(dst, packed); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeKlauspost does it with klauspost/compress.
func BenchmarkDecodeKlauspost(b *testing.B) {
	text := samples()["digits"][:10_000]
	packed, dst := compress(b, text, 6), make([]byte, len(text))
	b.SetBytes(int64(len(text)))
	r := kflate.NewReader(bytes.NewReader(nil))
	for b.Loop() {
		_ = r.(kflate.Resetter).Reset(bytes.NewReader(packed), nil)
		if _, err := io.ReadFull(r, dst); err != nil {
			b.Fatal(err)
		}
	}
}
