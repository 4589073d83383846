package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

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

// listFiles makes a list of a tree of files of an attempt, and shows the one with a name or
// else the first of others that is there.
func listFiles(ctx context.Context, s *shownStep, ref cache.Ref, tab, name string, first ...string) fileList {
	l, all := chooseFile(ctx, s, ref, tab, name, first...)
	if l.Missing == "" && l.Note == "" {
		l.Lines, l.Note = showFile(ctx, s.store, l.Path, all.at[l.Path])
	}
	return l
}

// chooseFile makes a list of a tree and chooses a file in it.
func chooseFile(ctx context.Context, s *shownStep, ref cache.Ref, tab, name string, first ...string) (fileList, files) {
	all, err := readFiles(ctx, s.store, ref)
	l := fileList{Count: len(all.names), More: all.more, Path: name}
	switch {
	case err != nil:
		l.Missing = lost("folder", err)
		return l, all
	case l.Count == 0:
		l.Missing = "The folder is empty."
		return l, all
	}
	for _, name := range append(first, all.names[0]) {
		if _, ok := all.at[name]; ok && l.Path == "" {
			l.Path = name
		}
	}
	for _, name := range all.names {
		l.Root.add(fileRow{Path: name, Link: s.link(tab, "file", name), Size: view.Bytes(all.at[name].Size), Here: name == l.Path})
	}
	if _, ok := all.at[l.Path]; !ok {
		l.Note = "There is no such file."
	}
	return l, all
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

// all are the files below a folder.
func (f *folder) all() []fileRow {
	out := slices.Clone(f.Files)
	for i := range out {
		out[i].Name = out[i].Path
	}
	for _, d := range f.Folders {
		out = append(out, d.all()...)
	}
	return out
}

// showFile returns the lines of a file, or the reason why it is not shown.
func showFile(ctx context.Context, store cache.Store, name string, e tree.Entry) (lines []template.HTML, note string) {
	data, err := head(ctx, store, e.Ref(), maxShown)
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

// files are the files of a tree.
type files struct {
	// names are their paths, in order, and at the entries by path.
	names []string
	at    map[string]tree.Entry
	// more is the number of files that are left out.
	more int
}

// readFiles lists the first files of a tree.
func readFiles(ctx context.Context, store cache.Store, ref cache.Ref) (files, error) {
	all := files{at: map[string]tree.Entry{}}
	if ref.Kind != cache.Tree {
		return all, nil
	}
	err := tree.Walk(ctx, store, ref, func(name string, e tree.Entry) error {
		switch {
		case e.IsDir():
		case len(all.names) < maxFiles:
			all.names, all.at[name] = append(all.names, name), e
		case all.more >= 100*maxFiles:
			return fs.SkipAll
		default:
			all.more++
		}
		return nil
	})
	return all, err
}

// head reads the beginning of an object. Its digest is checked only if all of it is read.
func head(ctx context.Context, store cache.Store, ref cache.Ref, limit int64) ([]byte, error) {
	f, err := store.Open(ctx, ref.ID)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return text, errors.Join(err, f.Close())
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

// none reports whether an error means that nothing is there.
func none(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, cache.ErrNotFound) }
