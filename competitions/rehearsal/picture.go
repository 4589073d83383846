package rehearsal

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// picture is the shape of PNG and JPEG files.
type picture struct {
	size       image.Rectangle
	gray, jpeg bool
}

// learn implements content.
func (p *picture) learn(r io.Reader) error {
	c, format, err := image.DecodeConfig(r)
	if err != nil {
		return err
	}
	longest := max(32, c.Width, c.Height)
	*p = picture{image.Rect(0, 0, max(1, c.Width*32/longest), max(1, c.Height*32/longest)), c.ColorModel == color.GrayModel, format == "jpeg"}
	return nil
}

// draw implements content: z makes the picture brighter.
func (p *picture) draw(d *drawing, z float64) []byte {
	var img draw.Image = image.NewRGBA(p.size)
	if p.gray {
		img = image.NewGray(p.size)
	}
	for i := range p.size.Dx() * p.size.Dy() {
		v := uint8(40 + 170*stat.NormalCDF(z) + float64(d.IntN(31)))
		img.Set(i%p.size.Dx(), i/p.size.Dx(), color.RGBA{v, v - v/8, v - v/4, 255})
	}
	var out bytes.Buffer // takes everything
	if p.jpeg {
		_ = jpeg.Encode(&out, img, nil)
	} else {
		_ = png.Encode(&out, img)
	}
	return out.Bytes()
}
