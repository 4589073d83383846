package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

const (
	fewFiles = 10 // files of a folder that keep their names, and ids whose letters are not used
	examples = 5  // files of a folder that are read
)

// shape holds names, types and statistics of raw data.
type shape struct {
	Options
	raw        *archive.Overlay
	files      []string
	groups     []*group
	tables     []*table
	columns    map[string]*column // by name
	entities   map[string]*entity
	names      map[string]bool       // of files, without extension
	extensions map[string]bool       // of files
	folders    map[string][]string   // the folders in each folder
	known      map[string]bool       // names of folders
	idFolders  map[string]*idPattern // those that are ids
	codes      map[string]*idPattern // categories' values that get other names
}

// group is the files of one extension in a folder, or in all folders whose names are ids.
// A table or text, unless there are many, has a group of its own.
type group struct {
	content
	files    []string
	subjects []*entity  // decide whether the files are drawn; nil if all are, with their names
	stems    *idPattern // nil if the files keep their names
}

// content is the shape of files.
type content interface {
	// learn reads a file.
	learn(r io.Reader) error
	// draw returns a made-up file that depends on z.
	draw(d *drawing, z float64) []byte
}

// unpacked follows the name of an archive in the path of the folder with its files.
const unpacked = "!"

// newShape learns the shape of the files in a folder. An archive is a folder of its files.
func newShape(ctx context.Context, raw fs.FS, o Options) (_ *shape, err error) {
	s := &shape{
		Options: o, raw: archive.NewOverlay(raw), columns: map[string]*column{}, entities: map[string]*entity{}, names: map[string]bool{}, extensions: map[string]bool{},
		folders: map[string][]string{}, known: map[string]bool{}, idFolders: map[string]*idPattern{}, codes: map[string]*idPattern{},
	}
	work, err := os.MkdirTemp("", "rehearsal-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.raw.Close(), os.RemoveAll(work)) }()
	if err = s.scan(ctx, ".", work); err == nil {
		err = s.sort()
	}
	if err == nil {
		err = s.learn(ctx)
	}
	return s, err
}

// scan lists the files below root. Archives are unpacked below work.
func (s *shape) scan(ctx context.Context, root, work string) error {
	return fs.WalkDir(s.raw, root, func(name string, e fs.DirEntry, err error) error {
		if err = cmp.Or(err, ctx.Err()); err != nil || name == root {
			return err
		}
		for _, glob := range s.Skip {
			whole, err := path.Match(glob, name)
			base, _ := path.Match(glob, path.Base(name))
			if (whole || base) && e.IsDir() {
				return fs.SkipDir
			}
			if err != nil || whole || base {
				return err
			}
		}
		if !e.IsDir() && archive.FormatOf(name) != "" {
			s.known[path.Base(name)+unpacked] = true
			if err := s.raw.Mount(ctx, name, name+unpacked, work); err != nil {
				return err
			}
			return s.scan(ctx, name+unpacked, work)
		}
		if e.IsDir() {
			s.known[path.Base(name)] = true
			s.folders[path.Dir(name)] = append(s.folders[path.Dir(name)], path.Base(name))
			return nil
		}
		s.files = append(s.files, name)
		s.extensions[path.Ext(name)] = path.Ext(name) != ""
		s.names[strings.TrimSuffix(path.Base(name), path.Ext(name))] = true
		return nil
	})
}

// sort puts the files into groups, sample submissions last. It returns an error with one
// file of each format that is unknown.
func (s *shape) sort() error {
	for _, names := range s.folders {
		if len(names) > mostValues {
			p := s.patternOf(names)
			for _, name := range names {
				s.idFolders[name] = p
			}
		}
	}
	by, unknown, errs := map[string]*group{}, map[string]bool{}, []error(nil)
	for _, name := range s.files {
		ext, c := path.Ext(name), s.contentOf(name)
		if c == nil && !unknown[ext] {
			unknown[ext] = true
			errs = append(errs, fmt.Errorf("%s has a format that cannot be drawn; leave such files out with --skip '%s'", name, cmp.Or(strings.TrimSuffix("*"+ext, "*"), name)))
		}
		dirs := strings.Split(path.Dir(name), "/")
		for i, part := range dirs {
			if s.idFolders[part] != nil {
				dirs[i] = "*"
			}
		}
		key := fmt.Sprint(isSample(name), dirs, ext)
		if by[key] == nil {
			by[key] = &group{content: c}
		}
		by[key].files = append(by[key].files, name)
	}
	if len(s.files) == 0 {
		return errors.New("the folder with the raw data has no files")
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		all := by[key].files
		size := len(all)
		if _, ok := by[key].content.(*table); ok && size < fewFiles {
			size = 1
		}
		for files := range slices.Chunk(all, size) {
			g := &group{files: files, content: s.contentOf(files[0])}
			if t, ok := g.content.(*table); ok {
				t.single = size == 1
				s.tables = append(s.tables, t)
			}
			s.groups = append(s.groups, g)
		}
	}
	return errors.Join(errs...)
}

var commas = map[string]rune{".csv": ',', ".tsv": '\t', ".txt": ofText, ".md": ofText}

// contentOf returns an empty shape for a file, or nil if its format is unknown.
func (s *shape) contentOf(name string) content {
	ext := strings.ToLower(path.Ext(name))
	switch comma := commas[ext]; {
	case comma != 0:
		return &table{shape: s, file: name, comma: comma, seen: map[string]bool{}}
	case ext == ".png" || ext == ".jpg" || ext == ".jpeg":
		return &picture{}
	}
	return nil
}

// learn reads some files of each group, and decides the kinds of all columns and the ids.
func (s *shape) learn(ctx context.Context) error {
	for _, g := range s.groups {
		for _, name := range g.files[:min(examples, len(g.files))] {
			f, err := s.raw.Open(name)
			if err = cmp.Or(ctx.Err(), err); err != nil {
				return err
			}
			if err := errors.Join(g.learn(f), f.Close()); err != nil {
				return fmt.Errorf("%s: %w; leave it out with --skip '%s'", name, err, name)
			}
		}
	}
	for _, c := range s.columns {
		c.decide(s)
	}
	for _, t := range s.tables {
		t.findIDs()
	}
	for _, g := range s.groups {
		s.subjects(g)
	}
	return nil
}

// isSample reports whether a file is a sample submission, whose values are no labels.
func isSample(name string) bool { return strings.Contains(strings.ToLower(path.Base(name)), "sample") }

// subjects finds the entities that decide which files of a group are drawn: that of the
// file's name or, in a folder whose name is an id, the folder's, unless a column has the
// file's. Few files are all drawn, unless columns have their names.
func (s *shape) subjects(g *group) {
	listed := func(name string) bool {
		_, stem, _ := s.split(name)
		return s.entities[stem] != nil && s.entities[stem].listed
	}
	if len(g.files) < fewFiles && s.owner(g.files[0]) == "" && !listed(g.files[0]) {
		return
	}
	g.stems = s.patternOf(g.files)
	for _, name := range g.files {
		subject := s.owner(name)
		if subject == "" || listed(name) {
			_, subject, _ = s.split(name)
		}
		e := s.entity(subject)
		e.folders = append(e.folders, path.Base(path.Dir(name)))
		g.subjects = append(g.subjects, e)
	}
}

// owner returns the folder of a file whose name is an id, or "".
func (s *shape) owner(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if s.idFolders[path.Base(dir)] != nil {
			return path.Base(dir)
		}
	}
	return ""
}
