package rehearsal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/prep"
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

// Copied is a column whose values are copied, because they are those of a category.
type Copied struct {
	File   string `json:"file"`
	Column string `json:"column"`
	Values int    `json:"values"`
}

// Set is the raw data of a rehearsal.
type Set struct {
	// Packed is the .tar.zst of the files.
	Packed []byte
	Files  int
	Copied []Copied
	// Partial are the files of which only the beginning was read.
	Partial []string
}

// drawing is one attempt to draw a set.
type drawing struct {
	*shape
	*rand.Rand
	quota      int
	used       map[string]bool
	vocabulary []string
	files      map[string][]byte
}

// Draw draws data of the shape of the raw data in a folder. A file whose format is
// unknown is an error that names it.
func Draw(ctx context.Context, raw fs.FS, o Options) (_ *Set, err error) {
	work, err := os.MkdirTemp("", "rehearsal-")
	if err != nil {
		return nil, fmt.Errorf("draw rehearsal: %w", err)
	}
	s := &shape{Options: o, raw: archive.NewOverlay(raw), work: work, archives: map[string]archive.Format{}, entities: map[string]*entity{},
		extensions: map[string]bool{}, folders: map[string]bool{}, idFolders: map[string]*idPattern{}, codes: map[string]string{}, names: map[string]bool{}, headers: map[string]bool{}, shards: map[string]bool{}}
	defer func() { err = errors.Join(err, s.raw.Close(), os.RemoveAll(work)) }()
	for _, step := range []func() error{func() error { return s.scan(ctx, ".") }, s.sort, func() error { return s.learn(ctx) }} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("draw rehearsal: %w", err)
		}
	}
	out := &Set{Copied: []Copied{}, Partial: append([]string{}, slices.Compact(s.partial)...)}
	for _, c := range s.columns {
		if c.kind == category && !o.NoValues {
			out.Copied = append(out.Copied, Copied{plain(c.file), c.name, len(c.values)})
		}
	}
	for quota := mostDrawn; ; quota = quota * 2 / 3 {
		d := &drawing{shape: s, Rand: rand.New(rand.NewPCG(digest(o.ID), 1)), quota: quota, used: map[string]bool{}, files: map[string][]byte{}} //nolint:gosec // data that everybody shall draw alike
		d.vocabulary = d.words(500)
		s.pick(quota)
		d.draw()
		out.Files = len(d.files)
		if out.Packed, err = d.pack(); err != nil {
			return nil, fmt.Errorf("draw rehearsal: %w", err)
		}
		if len(out.Packed) <= mostBytes {
			return out, nil
		}
		if quota < 10 {
			return nil, fmt.Errorf("draw rehearsal: even %d rows of a table and %d files of a folder have more than %d bytes; leave files out with --skip", quota, filesOf(quota), mostBytes)
		}
	}
}

// filesOf returns how many files of a folder are drawn.
func filesOf(quota int) int { return max(3, quota*3/10) }

// pick chooses the entities that are drawn: those with the smallest random numbers of
// each table and folder that has few chosen ones yet, and all others that the rows of
// the tables name. Tables with groups of rows come first.
func (s *shape) pick(quota int) {
	for _, e := range s.entities {
		e.chosen, e.name = false, ""
	}
	for _, c := range s.columns {
		c.chosen, c.turn, c.met, c.again = nil, 0, map[string]bool{}, ""
	}
	for _, groups := range []bool{true, false} {
		for _, t := range s.tables {
			if _, grouped := t.key(); grouped == groups {
				t.pick(quota)
				t.take(quota)
			}
		}
	}
	for _, g := range s.groups {
		if g.named {
			continue
		}
		ids := map[string]bool{}
		for _, name := range g.files {
			ids[s.subject(g, name)] = true
		}
		s.choose(slices.Sorted(maps.Keys(ids)), filesOf(quota))
	}
	for range 4 {
		for _, t := range s.tables {
			t.take(quota)
		}
	}
}

// subject returns the id that decides whether a file is drawn: its name or, in a folder
// whose name is an id, the folder's, unless a column has the file's.
func (s *shape) subject(g *group, name string) string {
	_, stem, _ := s.split(name)
	if folder := s.owner(name); folder != "" && (g.stems == nil || !s.entity(stem).listed) {
		return folder
	}
	return stem
}

// draw draws all files. Of a folder whose name is an id, there are three of each
// extension at most, unless a column has their names.
func (d *drawing) draw() {
	for _, g := range d.groups {
		inside := map[string]int{}
		for _, name := range g.files {
			dir, stem, ext := d.split(name)
			if g.named {
				d.files[d.folder(dir)+stem+ext] = g.draw(d, d.NormFloat64())
				continue
			}
			subject := d.subject(g, name)
			e := d.entity(subject)
			inside[dir]++
			if !e.chosen || subject != stem && inside[dir] > 3 {
				continue
			}
			renamed := stem
			if g.stems != nil {
				renamed = d.name(stem, g.stems)
			}
			d.files[d.folder(d.shard(dir, stem, renamed))+renamed+ext] = g.draw(d, e.z)
		}
	}
}

// pack packs the files of archives, the innermost first, and then all.
func (d *drawing) pack() ([]byte, error) {
	names := slices.SortedFunc(maps.Keys(d.archives), func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, name := range append(names, "") {
		dir, format, inside := name+unpacked+"/", d.archives[name], map[string][]byte{}
		if name == "" {
			dir, format = "", archive.TarZstd
		}
		for file, data := range d.files {
			if rest, ok := strings.CutPrefix(file, dir); ok {
				inside[rest] = data
				delete(d.files, file)
			}
		}
		var out bytes.Buffer
		p, err := archive.NewPacker(&out, format, archive.PackOptions{})
		for _, file := range slices.Sorted(maps.Keys(inside)) {
			if err == nil {
				w, createErr := p.Create(file)
				if err = createErr; err == nil {
					_, err = w.Write(inside[file])
				}
			}
		}
		if err == nil {
			err = p.Close()
		}
		if err != nil {
			return nil, err
		}
		d.files[name] = out.Bytes()
	}
	return d.files[""], nil
}

// Try prepares a packed set with the definition of the competition for rehearsals.
func Try(ctx context.Context, def *competitions.Definition, packed []byte) (err error) {
	work, err := os.MkdirTemp("", "rehearsal-")
	if err != nil {
		return fmt.Errorf("prepare rehearsal: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	raw := filepath.Join(work, "raw")
	if err := os.Mkdir(raw, 0o700); err != nil {
		return fmt.Errorf("prepare rehearsal: %w", err)
	}
	if err := archive.Unpack(ctx, archive.Source{ReaderAt: bytes.NewReader(packed), Size: int64(len(packed))}, archive.TarZstd, archive.DefaultLimits(), raw); err != nil {
		return err
	}
	out, err := prep.NewFolder(filepath.Join(work, "prepared"))
	if err != nil {
		return err
	}
	return errors.Join(prep.Run(ctx, def.Rehearsed(), prep.Options{Raw: os.DirFS(raw), Out: out}), out.Discard())
}
