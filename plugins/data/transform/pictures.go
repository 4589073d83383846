package transform

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"iter"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// maskOptions are the options of png_run_lengths.
type maskOptions struct {
	Order string `verb:"order"`
	Value *int   `verb:"value"`
	Empty string `verb:"empty"`
}

var pngRunLengthsVerb = Verb{
	Name: "png_run_lengths", Params: []string{"paths", "options"},
	Summary: `The masks in PNG images as run lengths, as Kaggle wants them: for each image a string of "start length" pairs, whose pixels are numbered from 1.`,
	Detail:  "Pixels run down the first column, then the next; with order = \"rows\" along the first row. Grey values other than 0 are the mask, or with value only that one; greys are those of pixels, before they are divided by 255. Without mask the string is empty, or as empty says.",
	Source:  `the starts and lengths of the runs in (numpy.array(PIL.Image.open(path).convert("L")) > 0).flatten("F")`,
	Func:    pngRunLengths,
}

func pngRunLengths(in *Input, paths []string, o *maskOptions) (*table.Column, error) {
	if o.Order != "" && o.Order != "rows" && o.Order != "columns" {
		return nil, fmt.Errorf("png_run_lengths: order = %q: write \"columns\" or \"rows\"", o.Order)
	}
	texts, err := table.TryCollect(len(paths), func(i int) (string, error) {
		grey, width, err := greyPNG(in, paths[i])
		if err != nil {
			return "", fmt.Errorf("png_run_lengths %s: %w", paths[i], err)
		}
		for at, g := range grey {
			grey[at] = 0
			if o.Value == nil && g != 0 || o.Value != nil && int(g) == *o.Value {
				grey[at] = 1
			}
		}
		return cmp.Or(runText(grey, []byte{1}, pixelOrder(len(grey), width, o.Order != "rows")), o.Empty), nil
	})
	return table.FromTexts("run_lengths", texts, nil), err
}

// pixelOrder walks the places of pixels that are stored row by row.
func pixelOrder(pixels, width int, byColumn bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range pixels {
			at := i
			if byColumn {
				height := pixels / width
				at = i%height*width + i/height
			}
			if !yield(at) {
				return
			}
		}
	}
}

// mostPixels is the largest image that is decoded; a file of a few bytes can claim more.
const mostPixels = 1 << 28

var pixelsVerb = Verb{
	Name: "pixels", Params: []string{"paths"},
	Summary: "The grey values of PNG images: a table of path, row, column (from 1) and value, image after image, row by row.",
	Detail:  "Values are grey / 255, 0 is black. Colours become (19595 R + 38470 G + 7471 B + 32768) >> 16, transparency is ignored. Of 16 bits the upper 8 count, but 16-bit grey without transparency is clipped at 255, as by Pillow.",
	Source:  "numpy.array(PIL.Image.open(path).convert(\"L\")) / 255.0",
	Func:    pixels,
}

func pixels(in *Input, paths []string) (*table.Table, error) {
	var names []string
	var rows, columns []int64
	var values []float64
	for _, path := range paths {
		grey, width, err := greyPNG(in, path)
		if err != nil {
			return nil, fmt.Errorf("pixels %s: %w", path, err)
		}
		for i, g := range grey {
			names = append(names, path)
			rows, columns = append(rows, int64(i/width+1)), append(columns, int64(i%width+1))
			values = append(values, float64(g)/255)
		}
	}
	return table.New(table.FromTexts("path", names, nil), table.FromInts("row", rows),
		table.FromInts("column", columns), table.FromFloats("value", values))
}

// greyPNG decodes a picture to 8-bit grey, row by row.
func greyPNG(in *Input, path string) (grey []uint8, width int, err error) {
	f, err := in.Raw.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	var head bytes.Buffer
	size, err := png.DecodeConfig(io.TeeReader(f, &head))
	if err != nil {
		return nil, 0, err
	}
	if size.Width > mostPixels/size.Height {
		return nil, 0, fmt.Errorf("%d × %d pixels are more than %d", size.Width, size.Height, mostPixels)
	}
	img, err := png.Decode(io.MultiReader(&head, f))
	if err != nil {
		return nil, 0, err
	}
	b := img.Bounds()
	grey = make([]uint8, 0, b.Dx()*b.Dy())
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			g, err := greyAt(img, x, y)
			if err != nil {
				return nil, 0, err
			}
			grey = append(grey, g)
		}
	}
	return grey, b.Dx(), nil
}

// greyAt is Pillow's conversion to mode L.
func greyAt(img image.Image, x, y int) (uint8, error) {
	switch p := img.(type) {
	case *image.Gray:
		return p.GrayAt(x, y).Y, nil
	case *image.NRGBA:
		return luma(p.NRGBAAt(x, y)), nil
	case *image.RGBA:
		c := p.RGBAAt(x, y)
		return luma(color.NRGBA{R: c.R, G: c.G, B: c.B}), nil
	case *image.Gray16:
		return uint8(min(p.Gray16At(x, y).Y, 255)), nil
	case *image.RGBA64:
		c := p.RGBA64At(x, y)
		return luma(color.NRGBA{R: uint8(c.R >> 8), G: uint8(c.G >> 8), B: uint8(c.B >> 8)}), nil
	case *image.NRGBA64:
		c := p.NRGBA64At(x, y)
		return luma(color.NRGBA{R: uint8(c.R >> 8), G: uint8(c.G >> 8), B: uint8(c.B >> 8)}), nil
	case *image.Paletted:
		return luma(color.NRGBAModel.Convert(p.At(x, y)).(color.NRGBA)), nil // opaque, or NRGBA
	}
	return 0, fmt.Errorf("images of type %T are not supported", img)
}

func luma(c color.NRGBA) uint8 {
	return uint8((19595*uint32(c.R) + 38470*uint32(c.G) + 7471*uint32(c.B) + 32768) >> 16)
}
