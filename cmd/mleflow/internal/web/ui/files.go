package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// head reads the beginning of an object. Its digest is checked only if all of it is read.
func head(ctx context.Context, store cache.Store, ref cache.Ref, limit int64) ([]byte, error) {
	f, err := store.Open(ctx, ref.ID)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return text, errors.Join(err, f.Close())
}

const (
	// maxFiles bounds a list of files, maxShown the shown part of a file.
	maxFiles = 2000
	maxShown = 256 << 10
)

// fileRow is a file in a list.
type fileRow struct {
	Path, Name, Link, Size string
	// Found is how many lines have what is searched.
	Found string
	Here  bool
}

// folder is a folder of a tree of files.
type folder struct {
	Name    string
	Folders []*folder
	Files   []fileRow
	// Open reports whether it is shown with its content.
	Open bool
}

// fileList is a tree of files, with one of them shown.
type fileList struct {
	Root  folder
	Count int
	More  int
	Path  string
	Lines []template.HTML
	// Missing explains why there are no files, Note what is not shown of the file.
	Missing, Note string
}

// add puts a file into the folder that its path names.
func (f *folder) add(row fileRow) {
	for dir, rest := "", row.Path; ; {
		name, after, more := strings.Cut(rest, "/")
		if !more {
			row.Name = rest
			f.Files = append(f.Files, row)
			return
		}
		dir, rest = name, after
		if n := len(f.Folders); n == 0 || f.Folders[n-1].Name != dir {
			f.Folders = append(f.Folders, &folder{Name: dir})
		}
		f = f.Folders[len(f.Folders)-1]
		f.Open = f.Open || row.Here
	}
}

var errEnough = errors.New("enough files")

// list makes a list of a tree, and shows the file that the address names or else the
// first of the names that is there.
func (o *one) list(ref cache.Ref, tab string, first ...string) fileList {
	l, e := o.choose(ref, tab, first...)
	if l.Missing == "" && l.Note == "" {
		l.Lines, l.Note = o.show(l.Path, e)
	}
	return l
}

// choose makes a list of a tree and chooses a file in it.
func (o *one) choose(ref cache.Ref, tab string, first ...string) (fileList, tree.Entry) {
	var l fileList
	var names []string
	entries := map[string]tree.Entry{}
	err := walk(o.ctx, o.store, ref, "", func(name string, e tree.Entry) error {
		if len(names) >= maxFiles {
			l.More++
			if l.More >= 100*maxFiles {
				return errEnough
			}
			return nil
		}
		entries[name] = e
		names = append(names, name)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		l.Missing = lost("folder", err)
		return l, tree.Entry{}
	}
	if l.Count = len(names); l.Count == 0 {
		l.Missing = "The folder is empty."
		return l, tree.Entry{}
	}
	l.Path = o.r.URL.Query().Get("file")
	for _, name := range append(first, names[0]) {
		if _, ok := entries[name]; ok && l.Path == "" {
			l.Path = name
		}
	}
	for _, name := range names {
		l.Root.add(fileRow{Path: name, Link: o.fileAddress(tab, name), Size: view.Bytes(entries[name].Size), Here: name == l.Path})
	}
	e, ok := entries[l.Path]
	if !ok {
		l.Note = "There is no such file."
	}
	return l, e
}

func (o *one) fileAddress(tab, name string) string {
	q := url.Values{"address": {o.address}, "tab": {tab}, "file": {name}}
	return "/step/" + url.PathEscape(o.sum.ID) + "?" + q.Encode()
}

// show returns the lines of a file, or the reason why it is not shown.
func (o *one) show(name string, e tree.Entry) (lines []template.HTML, note string) {
	data, err := head(o.ctx, o.store, e.Ref(), maxShown)
	switch {
	case err != nil:
		return nil, lost("file", err)
	case len(data) == 0:
		return nil, "The file is empty."
	case binary(data):
		return nil, fmt.Sprintf("The file is not text; it has %s.", view.Bytes(e.Size))
	case e.Size > int64(len(data)):
		note = fmt.Sprintf("The first %s of %s.", view.Bytes(int64(len(data))), view.Bytes(e.Size))
	}
	return coloured(path.Base(name), strings.TrimSuffix(string(data), "\n")), note
}

// binary reports whether a file is not meant to be read.
func binary(data []byte) bool {
	sample := data[:min(len(data), 8<<10)]
	if bytes.IndexByte(sample, 0) >= 0 {
		return true
	}
	bad := 0
	for i := 0; i < len(sample); {
		r, n := utf8.DecodeRune(sample[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		i += n
	}
	return bad > len(sample)/8+4
}

// walk visits the files of a tree in order of their paths.
func walk(ctx context.Context, store cache.Store, ref cache.Ref, at string, visit func(string, tree.Entry) error) error {
	if ref.Kind != cache.Tree {
		return nil
	}
	entries, err := tree.Read(ctx, store, ref)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(at, e.Name)
		if e.IsDir() {
			err = walk(ctx, store, e.Ref(), name, visit)
		} else {
			err = visit(name, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// contents reads the small text files of a tree, for a comparison.
func contents(ctx context.Context, store cache.Store, ref cache.Ref) (map[string]tree.Entry, error) {
	out := map[string]tree.Entry{}
	err := walk(ctx, store, ref, "", func(name string, e tree.Entry) error {
		if len(out) >= maxFiles {
			return errEnough
		}
		out[name] = e
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out, err
}

// same reports whether an error means that nothing is there.
func none(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, cache.ErrNotFound) }

// union are the names of two maps, sorted.
func union[V any](a, b map[string]V) []string {
	names := sortedKeys(a)
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
