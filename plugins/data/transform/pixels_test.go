package transform

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// Expectations from Pillow 10.3: numpy.array(Image.open(path).convert("L")).
func TestPixelsOf16Bits(t *testing.T) {
	box := image.Rect(0, 0, 3, 1)
	pixels16 := [][3]uint16{{0x12ff, 0x80ff, 0xfe01}, {0xff00, 0, 0}, {1, 255, 256}}
	grey, colour, clear := image.NewGray16(box), image.NewRGBA64(box), image.NewNRGBA64(box)
	for x, p := range pixels16 {
		grey.SetGray16(x, 0, color.Gray16{Y: p[0]})
		colour.SetRGBA64(x, 0, color.RGBA64{R: p[0], G: p[1], B: p[2], A: 0xffff})
		clear.SetNRGBA64(x, 0, color.NRGBA64{R: p[0], G: p[1], B: p[2], A: 0x8000})
	}
	for name, c := range map[string]struct {
		picture image.Image
		want    []float64
	}{
		"grey":             {grey, []float64{255, 255, 1}},
		"colour":           {colour, []float64{109, 76, 0}},
		"colour and alpha": {clear, []float64{109, 76, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			if err := png.Encode(&file, c.picture); err != nil {
				t.Fatal(err)
			}
			got, err := pixels(&Input{Raw: fstest.MapFS{"a.png": {Data: file.Bytes()}}}, []string{"a.png"})
			if err != nil {
				t.Fatal(err)
			}
			column, err := got.Column("value")
			if err != nil {
				t.Fatal(err)
			}
			values := column.Floats()
			for i := range values {
				values[i] *= 255
			}
			if diff := cmp.Diff(c.want, values); diff != "" {
				t.Errorf("(-Pillow +ours):\n%s", diff)
			}
		})
	}
}
