package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
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
	work       string
	files      []string
	archives   map[string]archive.Format
	groups     []*group
	tables     []*table
	columns    []*column
	entities   map[string]*entity
	extensions map[string]bool
	folders    map[string]bool       // names of folders
	idFolders  map[string]*idPattern // those that are ids
	codes      map[string]string     // replacements of categories' values
	names      map[string]bool       // of files, without extension
	headers    map[string]bool       // names of columns
	shards     map[string]bool       // top folders of sharded files, such as 3/4/345f.png; "" if there are any
	partial    []string              // tables of which only the first rows are read
}

// content is the shape of files.
type content interface {
	// learn reads a file.
	learn(r io.Reader) error
	// draw returns a made-up file that depends on z.
	draw(d *drawing, z float64) []byte
}

// group is the files of one extension in a folder, or in all folders whose names are
// ids. Few files, and tables that are not many, have a group each and keep their names.
type group struct {
	content
	files []string
	named bool       // the files keep their names and folders
	stems *idPattern // nil if the files of all folders have the same few names
}

// scan lists the files. An archive is a folder of its files.
func (s *shape) scan(ctx context.Context, root string) error {
	return fs.WalkDir(s.raw, root, func(name string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || name == root {
			return err
		}
		for _, glob := range s.Skip {
			whole, err := path.Match(glob, plain(name))
			if base, _ := path.Match(glob, path.Base(name)); err == nil && !whole && !base {
				continue
			}
			if err == nil && e.IsDir() {
				err = fs.SkipDir
			}
			return err
		}
		if e.IsDir() {
			return nil
		}
		format := archive.FormatOf(name)
		if format == "" {
			s.files = append(s.files, name)
			return nil
		}
		s.archives[name] = format
		if err := s.raw.Mount(ctx, name, name+unpacked, s.work); err != nil {
			return err
		}
		return s.scan(ctx, name+unpacked)
	})
}

// unpacked follows the name of an archive in the path of the folder with its files.
const unpacked = "!"

// plain returns a file's path as the user knows it.
func plain(name string) string { return strings.ReplaceAll(name, unpacked+"/", "/") }

// contentOf returns an empty shape for a file, or nil if its format is unknown.
func (s *shape) contentOf(name string) content {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv":
		return &table{shape: s, file: name}
	case ".txt", ".md":
		return &table{shape: s, file: name, lines: true, headless: true}
	case ".png", ".jpg", ".jpeg":
		return &picture{}
	case ".json", ".jsonl", ".ndjson":
		return &records{shape: s, file: name, lines: !strings.HasSuffix(strings.ToLower(name), ".json"), root: &node{}}
	}
	return nil
}

// sort puts the files into groups. It returns an error with one file of each format that
// is unknown.
func (s *shape) sort() error {
	inside := map[string]map[string]bool{}
	for _, name := range s.files {
		s.extensions[path.Ext(name)] = true
		s.names[strings.TrimSuffix(path.Base(name), path.Ext(name))] = true
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			s.folders[path.Base(dir)] = true
			if inside[path.Dir(dir)] == nil {
				inside[path.Dir(dir)] = map[string]bool{}
			}
			if !strings.HasSuffix(dir, unpacked) {
				inside[path.Dir(dir)][path.Base(dir)] = true
			}
		}
	}
	delete(s.extensions, "")
	s.findShards()
	for _, names := range inside {
		if len(names) > mostValues {
			p := patternOf(slices.Sorted(maps.Keys(names)))
			for name := range names {
				s.idFolders[name] = p
			}
		}
	}
	by, unknown := map[string][]string{}, map[string]error{}
	for _, name := range s.files {
		if ext := path.Ext(name); s.contentOf(name) == nil && unknown[ext] == nil {
			unknown[ext] = fmt.Errorf("%s has a format that cannot be drawn; leave such files out with --skip '%s'", plain(name), cmp.Or(strings.TrimSuffix("*"+ext, "*"), plain(name)))
		}
		key := s.folderPattern(name) + "/" + path.Ext(name)
		by[key] = append(by[key], name)
	}
	var errs []error
	if len(s.files) == 0 {
		errs = append(errs, errors.New("the folder with the raw data has no files"))
	}
	for _, ext := range slices.Sorted(maps.Keys(unknown)) {
		errs = append(errs, unknown[ext])
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		s.groups = append(s.groups, &group{files: by[key], named: len(by[key]) < fewFiles})
	}
	return errors.Join(errs...)
}

// folderPattern returns a file's folder without what its name or other ids decide.
func (s *shape) folderPattern(name string) string {
	dir, stem, _ := s.split(name)
	dirs := strings.Split(s.shard(dir, stem, strings.Repeat("*", len(stem))), "/")
	for i, part := range dirs {
		if s.idFolders[part] != nil {
			dirs[i] = "*"
		}
	}
	return strings.Join(dirs, "/")
}

// learn reads pictures and files that are many last, because ids of the others may name
// them.
func (s *shape) learn(ctx context.Context) error {
	groups := s.groups
	s.groups = nil
	hasIDs := func(g *group) bool { _, ok := s.contentOf(g.files[0]).(*picture); return !ok && g.named }
	for _, first := range []bool{true, false} {
		for _, g := range groups {
			if hasIDs(g) != first {
				continue
			}
			for _, name := range g.files {
				_, stem, _ := s.split(name)
				g.named = g.named && (first || s.entities[stem] == nil)
			}
			parts := []*group{g}
			if g.named {
				parts = nil
				for _, name := range g.files {
					parts = append(parts, &group{files: []string{name}, named: true})
				}
			}
			for _, part := range parts {
				if err := s.learnGroup(ctx, part); err != nil {
					return err
				}
			}
			s.groups = append(s.groups, parts...)
		}
		s.settle()
	}
	return nil
}

func (s *shape) learnGroup(ctx context.Context, g *group) error {
	g.content = s.contentOf(g.files[0])
	for _, name := range g.files[:min(examples, len(g.files))] {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := s.raw.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(g.learn(f), f.Close()); err != nil {
			return fmt.Errorf("%s: %w; leave it out with --skip '%s'", plain(name), err, plain(name))
		}
	}
	if t, ok := g.content.(*table); ok && g.named {
		s.tables = append(s.tables, t)
	}
	if g.named {
		return nil
	}
	stems := s.stems(g.files)
	if folder := s.owner(g.files[0]); folder == "" || len(slices.Compact(slices.Sorted(slices.Values(stems)))) >= fewFiles {
		g.stems = patternOf(stems)
	}
	for i, name := range g.files {
		if folder := s.owner(name); folder != "" {
			s.entity(folder)
		}
		if g.stems != nil {
			e := s.entity(stems[i])
			e.folders = append(e.folders, path.Base(path.Dir(name)))
		}
	}
	return nil
}

// settle decides the kinds of the columns, those of one name together, and registers
// the ids.
func (s *shape) settle() {
	byName := map[string][]*column{}
	for _, c := range s.columns {
		if c.kind == blank {
			c.decide(s.NoValues)
		}
		if c.kind == id && !c.isNumber() && !slices.ContainsFunc(c.values, func(v string) bool { return !s.headers[v] }) {
			c.kind = category // classes that have columns of their own
		}
		if c.kind == number && c.unique() && !slices.ContainsFunc(c.values, func(v string) bool { return !s.names[v] }) {
			c.kind = id
		}
		byName[c.name] = append(byName[c.name], c)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		s.agree(byName[name])
	}
	for _, c := range s.columns {
		if c.kind == id && c.pattern == nil {
			c.pattern = patternOf(s.stems(c.values))
			for _, stem := range s.stems(c.values) {
				s.entity(stem).listed = true
			}
		}
		if c.kind == category || c.kind == boolean {
			c.sortValues()
		}
		if c.quantile == nil {
			c.summarize(s.NoValues)
		}
	}
}

// agree makes the kinds of columns of one name fit: ids if one of them has many ids,
// else categories if one is a category.
func (s *shape) agree(all []*column) {
	ids := slices.ContainsFunc(all, func(c *column) bool { return c.kind == id && len(c.values) > mostValues })
	values := map[string]bool{}
	for _, c := range all {
		if c.kind == category {
			for _, v := range c.values {
				values[v] = true
			}
		}
	}
	for _, c := range all {
		switch {
		case ids && c.index != nil && (c.kind == category || c.kind == number) && !c.notInt:
			c.kind = id
		case !ids && c.kind == id && len(values) > 0 && !slices.ContainsFunc(c.values, func(v string) bool { return !values[v] }):
			c.kind = category
		}
	}
	if !s.NoValues || ids {
		return
	}
	codes := map[string]string{}
	for i, v := range slices.SortedFunc(maps.Keys(values), byNumber) {
		codes[v] = "c" + strconv.Itoa(i+1)
		switch {
		case s.headers[v]:
			codes[v] = v
		case all[0].isNumber():
			codes[v] = strconv.Itoa(i)
		}
		s.codes[v] = codes[v]
	}
	for _, c := range all {
		c.codes = codes
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
