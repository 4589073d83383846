package inflate

import (
	"bytes"
	"compress/flate"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

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

// members are what zip files of competitions hold: tables and pictures.
func members(b *testing.B) map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	var numbers, table, picture bytes.Buffer
	for i := range 5000 {
		fmt.Fprint(&numbers, i)
		for range 20 {
			fmt.Fprintf(&numbers, ",%.6f", r.NormFloat64())
		}
		fmt.Fprintf(&table, "%016x,%d,%s,%d,2016-%02d-%02d,%.2f\n", r.Uint64(), i, []string{"male", "female"}[r.IntN(2)], r.IntN(80), 1+r.IntN(12), 1+r.IntN(28), r.ExpFloat64()*30)
		numbers.WriteByte('\n')
	}
	img := image.NewRGBA(image.Rect(0, 0, 600, 600))
	for i := range img.Pix {
		x, y := float64(i/4%600), float64(i/4/600)
		img.Pix[i] = uint8(128 + 60*math.Sin(x/23) + 40*math.Cos(x*y/900) + r.NormFloat64()*6)
	}
	if err := jpeg.Encode(&picture, img, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	return map[string][]byte{"numbers": numbers.Bytes(), "table": table.Bytes(), "picture": picture.Bytes()}
}

// BenchmarkMembers decides whether the package is worth its lines: it fails once
// tables take more than two thirds of the time of klauspost/compress. Pictures
// are as fast, for there is little to decode.
func BenchmarkMembers(b *testing.B) {
	for name, text := range members(b) {
		packed := compress(b, text, 6)
		ours, theirs := NewReader(nil), kflate.NewReader(bytes.NewReader(nil))
		least := map[bool]time.Duration{true: time.Hour, false: time.Hour}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, own := range []bool{true, false} {
					r := io.Reader(ours)
					if ours.Reset(bytes.NewReader(packed)); !own {
						r = theirs
						_ = theirs.(kflate.Resetter).Reset(bytes.NewReader(packed), nil)
					}
					start := time.Now()
					if n, err := io.Copy(io.Discard, r); err != nil || n != int64(len(text)) {
						b.Fatal(n, err)
					}
					least[own] = min(least[own], time.Since(start))
				}
			}
			times := least[false].Seconds() / least[true].Seconds()
			b.ReportMetric(times, "times-klauspost")
			if name != "picture" && times < 1.5 {
				b.Errorf("%s: only %.2f times as fast as klauspost/compress", name, times)
			}
		})
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
