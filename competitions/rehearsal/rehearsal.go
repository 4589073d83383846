package rehearsal

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/numeric/stat"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

const (
	mostBytes = 300_000 // of a packed set
	mostDrawn = 200     // rows of a table
)

// Options select the data that are drawn.
type Options struct {
	// ID is the competition's identifier, which seeds all random numbers.
	ID string
	// NoValues copies no values of categories, and only two digits of numbers.
	NoValues bool
	// Skip are patterns of path.Match for files and folders to leave out, by their path or
	// their name.
	Skip []string
}

// Set is the raw data of a rehearsal.
type Set struct {
	// Packed is the .tar.zst of the files.
	Packed []byte `json:"-"`
	// Path is the file, if it was written.
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	Files int    `json:"files"`
	// Copied are the columns whose values are copied, because they are those of a category:
	// "train.csv: ward (3 values)".
	Copied []string `json:"copied"`
}

// drawing is one attempt to draw a set.
type drawing struct {
	*shape
	*rand.Rand
	quota int
	used  map[string]bool // made-up ids
	files map[string][]byte
}

// normal returns a random number of the normal distribution, the same on all machines.
func (d *drawing) normal() float64 { return stat.NormalQuantile(d.Float64()) }

// Draw draws data of the shape of the raw data in a folder. A file whose format is
// unknown is an error that names it.
func Draw(ctx context.Context, raw fs.FS, o Options) (*Set, error) {
	s, err := newShape(ctx, raw, o)
	if err != nil {
		return nil, fmt.Errorf("draw rehearsal: %w", err)
	}
	out := &Set{Copied: []string{}}
	for _, t := range s.tables {
		for _, c := range t.columns {
			if c.kind == category && !o.NoValues {
				out.Copied = append(out.Copied, fmt.Sprintf("%s: %s (%d values)", t.file, c.name, len(c.values)))
			}
		}
	}
	for quota := mostDrawn; quota >= 10; quota = quota * 2 / 3 {
		d := &drawing{shape: s, Rand: rand.New(rand.NewPCG(s.hash(""), 1)), quota: quota, used: map[string]bool{}, files: map[string][]byte{}} //nolint:gosec // data that everybody shall draw alike
		d.draw()
		if out.Packed, err = pack(d.files); err != nil {
			return nil, fmt.Errorf("draw rehearsal: %w", err)
		}
		if out.Files, out.Bytes = len(d.files), len(out.Packed); out.Bytes <= mostBytes {
			return out, nil
		}
	}
	return nil, fmt.Errorf("draw rehearsal: even a few rows of a table and files of a folder have more than %d bytes; leave files out with --skip", mostBytes)
}

// filesOf returns how many files of a folder are drawn.
func filesOf(quota int) int { return max(3, quota*3/10) }

// pick chooses the entities that are drawn: those with the smallest random numbers of
// each table and folder, and all others that the rows of the tables name.
func (s *shape) pick(quota int) {
	for _, e := range s.entities {
		e.chosen, e.name = false, ""
	}
	for _, t := range s.tables {
		t.pick(quota)
		t.take(quota)
	}
	for _, g := range s.groups {
		choose(g.subjects, filesOf(quota))
	}
	for range 4 {
		for _, t := range s.tables {
			t.take(quota)
		}
	}
}

// draw draws all files: of a folder whose name is an id, three at most unless a column
// has their names.
func (d *drawing) draw() {
	d.pick(d.quota)
	for _, g := range d.groups {
		inside := map[string]int{}
		for i, name := range g.files {
			z := d.normal()
			if g.subjects != nil {
				e, dir := g.subjects[i], path.Dir(name)
				if inside[dir]++; !e.chosen || !e.listed && g.stems != nil && d.owner(name) != "" && inside[dir] > 3 {
					continue
				}
				z = e.z
			}
			d.files[strings.ReplaceAll(d.rename(name, g.stems), unpacked+"/", "/")] = g.content.draw(d, z)
		}
	}
}

func pack(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	p, err := archive.NewPacker(&out, archive.TarZstd, archive.PackOptions{})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var w io.Writer
		if err == nil {
			w, err = p.Create(name)
		}
		if err == nil {
			_, err = w.Write(files[name])
		}
	}
	if err == nil {
		err = p.Close()
	}
	return out.Bytes(), err
}

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
