package rehearsal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
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
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

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
		if out.Packed, err = Pack(d.files, archive.TarZstd); err != nil {
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
				if inside[dir]++; !e.chosen || !e.listed && inside[dir] > 3 && d.owner(name) != "" {
					continue
				}
				z = e.z
			}
			d.files[strings.ReplaceAll(d.rename(name, g.stems), unpacked+"/", "/")] = g.content.draw(d, z)
		}
	}
}

// Pack returns an archive of files, by their paths.
func Pack(files map[string][]byte, format archive.Format) ([]byte, error) {
	var out bytes.Buffer
	p, err := archive.NewPacker(&out, format, archive.PackOptions{})
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

// entity is a thing that has an id in the raw data.
type entity struct {
	order   uint64  // a random number: the entities with the smallest ones are drawn
	z       float64 // the hidden value that all data of the entity depend on
	chosen  bool
	name    string   // the made-up id, once it is drawn
	listed  bool     // a column has the id
	folders []string // folders with a file of this name
}

// hash returns a number that depends on a text and the competition.
func (s *shape) hash(text string) uint64 {
	sum := sha256.Sum256([]byte(s.ID + "\x00" + text))
	return binary.LittleEndian.Uint64(sum[:])
}

// entity returns the entity with an id. It is added if it is not known yet.
func (s *shape) entity(known string) *entity {
	if s.entities[known] == nil {
		z := (float64(s.hash("z\x00"+known)>>32) + 0.5) / (1 << 32)
		s.entities[known] = &entity{order: s.hash(known), z: stat.NormalQuantile(z)}
	}
	return s.entities[known]
}

// choose chooses the first n entities in their random order.
func choose(all []*entity, n int) {
	all = slices.Compact(slices.SortedFunc(slices.Values(all), func(a, b *entity) int { return cmp.Compare(a.order, b.order) }))
	for _, e := range all[:min(n, len(all))] {
		e.chosen = true
	}
}

// split cuts an id that is the path of a file into folder, stem and extension. Any other
// id is a stem.
func (s *shape) split(v string) (dir, stem, ext string) {
	dir, stem = path.Split(v)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if dir != "" && !s.known[part] {
			return "", v, ""
		}
	}
	if ext = path.Ext(stem); !s.extensions[ext] {
		ext = ""
	}
	return dir, strings.TrimSuffix(stem, ext), ext
}

// rename returns the made-up id for a real one, or the path for that of a file. Without a
// pattern the file keeps its name.
func (d *drawing) rename(v string, p *idPattern) string {
	dir, stem, ext := d.split(v)
	if p != nil {
		stem = d.name(stem, p)
	}
	return strings.Join(lists.Of(strings.Split(dir, "/"), d.code), "/") + stem + ext
}

// code returns the made-up name of a folder or of a category's value, or that itself.
func (d *drawing) code(v string) string {
	if p := cmp.Or(d.idFolders[v], d.codes[v]); p != nil {
		return d.name(v, p)
	}
	return v
}

// name returns the made-up id of an entity.
func (d *drawing) name(known string, p *idPattern) string {
	e := d.entity(known)
	for try := 0; e.name == ""; try++ {
		name := p.draw(d, try/1000)
		if d.entities[name] == nil && !d.used[name] {
			e.name, d.used[name] = name, true
		}
	}
	return e.name
}

// idPattern is the form of ids.
type idPattern struct {
	next     uint64   // of integers, the last that was drawn; else 0
	alphabet []string // the characters of each place
	least    int      // characters
}

// patternOf returns the form of ids or the names of files: integers, or the characters of
// each place. A character that all have in a place is kept, unless they are few.
func (s *shape) patternOf(ids []string) *idPattern {
	p, integers, places := &idPattern{next: 1}, true, []string(nil)
	for i, v := range ids {
		_, v, _ = s.split(v)
		digits := strings.TrimPrefix(v, "-")
		n, err := strconv.ParseUint(digits, 10, 64)
		integers = integers && err == nil && strconv.FormatUint(n, 10) == digits
		p.next = max(p.next, n)
		if p.least = min(p.least, len(v)); i == 0 {
			p.least = len(v)
		}
		for k := range len(v) {
			if k == len(places) {
				places = append(places, "")
			}
			if strings.IndexByte(places[k], v[k]) < 0 {
				places[k] += v[k : k+1]
			}
		}
	}
	if integers {
		return p
	}
	p.next = 0
	for i, chars := range places {
		at := slices.IndexFunc(classes, func(class string) bool { return strings.Trim(chars, class) == "" })
		if len(chars) > 1 || i >= p.least || chars >= "\x80" || len(ids) < fewFiles && at >= 0 {
			chars = classes[(at+len(classes))%len(classes)] // the last for other characters
		}
		p.alphabet = append(p.alphabet, chars)
	}
	return p
}

// classes are sets of characters, the smallest first.
var classes = []string{"0123456789", "0123456789abcdef", "0123456789ABCDEF", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"0123456789abcdefghijklmnopqrstuvwxyz", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}

// draw returns an id of the pattern, with so many digits more if there are few.
func (p *idPattern) draw(d *drawing, more int) string {
	if p.next > 0 {
		p.next += 1 + uint64(d.IntN(3))
		return strconv.FormatUint(p.next, 10)
	}
	out := make([]byte, p.least+d.IntN(len(p.alphabet)-p.least+1)+more)
	for i := range out {
		class := classes[0]
		if i < len(p.alphabet) {
			class = p.alphabet[i]
		}
		out[i] = class[d.IntN(len(class))]
	}
	return string(out)
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
