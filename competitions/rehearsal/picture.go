package rehearsal

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"

	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// picture is the shape of PNG and JPEG files.
type picture struct {
	width, height int
	gray, jpeg    bool
}

// learn implements content.
func (p *picture) learn(r io.Reader) error {
	c, format, err := image.DecodeConfig(r)
	if err != nil {
		return err
	}
	_, palette := c.ColorModel.(color.Palette)
	scale := min(1, 32/float64(max(c.Width, c.Height)))
	small := func(v int) int { return max(1, int(math.Round(float64(v)*scale))) }
	*p = picture{small(c.Width), small(c.Height), palette || c.ColorModel == color.GrayModel || c.ColorModel == color.Gray16Model, format == "jpeg"}
	return nil
}

// draw implements content: z makes the picture brighter.
func (p *picture) draw(d *drawing, z float64) []byte {
	bright := 40 + 170*stat.NormalCDF(z)
	img := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	grays := image.NewGray(img.Rect)
	for i := range p.width * p.height {
		v := uint8(bright + float64(d.IntN(31)))
		x, y := i%p.width, i/p.width
		img.SetRGBA(x, y, color.RGBA{v, v - v/8, v - v/4, 255})
		grays.SetGray(x, y, color.Gray{v})
	}
	var drawn image.Image = img
	if p.gray {
		drawn = grays
	}
	var out bytes.Buffer // takes everything
	if p.jpeg {
		_ = jpeg.Encode(&out, drawn, nil)
	} else {
		_ = png.Encode(&out, drawn)
	}
	return out.Bytes()
}
