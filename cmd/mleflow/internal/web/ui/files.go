package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
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
	// Files are the files, Root the folder that has them.
	Files []fileRow
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
	for _, row := range l.Files {
		l.Root.add(row)
	}
	if l.Missing == "" && l.Note == "" {
		l.Lines, l.Note = showFile(ctx, s.store, l.Path, all.at[l.Path])
	}
	return l
}

// chooseFile makes a list of a tree and chooses a file in it.
func chooseFile(ctx context.Context, s *shownStep, ref cache.Ref, tab, name string, first ...string) (fileList, treeFiles) {
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
		l.Files = append(l.Files, fileRow{Path: name, Name: name, Link: s.link(tab, "file", name), Size: view.Bytes(all.at[name].Size), Here: name == l.Path})
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

// showFile returns the lines of a file, or the reason why it is not shown.
func showFile(ctx context.Context, store cache.Store, name string, e tree.Entry) (lines []template.HTML, note string) {
	data, err := headBytes(ctx, store, e.Ref(), maxShown)
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

// treeFiles are the files of a tree.
type treeFiles struct {
	// names are their paths, in order, and at the entries by path.
	names []string
	at    map[string]tree.Entry
	// more is the number of files that are left out.
	more int
}

// readFiles lists the first files of a tree.
func readFiles(ctx context.Context, store cache.Store, ref cache.Ref) (treeFiles, error) {
	all := treeFiles{at: map[string]tree.Entry{}}
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

const (
	// previewRows and previewColumns bound the preview of a submission, maxCell the
	// length of a cell, and maxPreview the bytes read of the file.
	previewRows, previewColumns = 20, 40
	maxCell                     = 120
	maxPreview                  = 256 << 10
	// previewFiles is the number of listed files.
	previewFiles = 50
)

// preview is the beginning of a submission.
type preview struct {
	// Columns are the columns with the types that their first values have.
	Columns       []page.Fact
	Rows          [][]string
	Wide          int
	Note, Missing string
	Size, Digest  string
	Others        []fileRow
}

// submission previews the agent's submission.
func submission(ctx context.Context, a *shownAttempt, _ url.Values) (d preview) {
	ref, missing := a.output("submission")
	if d.Missing = missing; missing != "" {
		return d
	}
	all, err := readFiles(ctx, a.store, ref)
	if err != nil {
		d.Missing = lost("submission", err)
		return d
	}
	d.Others = lists.Of(all.names[:min(len(all.names), previewFiles)], func(name string) fileRow {
		return fileRow{Path: name, Size: view.Bytes(all.at[name].Size)}
	})
	e, err := tree.Find(ctx, a.store, ref, "submission.csv")
	if none(err) || err == nil && e.IsDir() {
		d.Missing = "The agent left no submission.csv."
		return d
	}
	if err != nil {
		d.Missing = lost("submission", err)
		return d
	}
	d.Size, d.Digest = view.Bytes(e.Size), e.ID.String()
	text, err := headBytes(ctx, a.store, e.Ref(), maxPreview)
	switch {
	case err != nil:
		d.Missing = lost("submission", err)
	case binary(text):
		d.Missing = "The submission is not text."
	default:
		d.read(text, int64(len(text)) < e.Size)
	}
	return d
}

// read takes the first rows of a table in CSV.
func (d *preview) read(text []byte, more bool) {
	r := csv.NewReader(bytes.NewReader(text))
	r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = true, -1, false
	names, err := r.Read()
	if err != nil {
		d.Missing = "The submission has no rows that can be read as CSV."
		return
	}
	d.Wide = max(0, len(names)-previewColumns)
	names = cut(names)
	for len(d.Rows) < previewRows {
		row, err := r.Read()
		if err != nil {
			break
		}
		d.Rows = append(d.Rows, cut(row))
	}
	for i, name := range names {
		d.Columns = append(d.Columns, page.Fact{Name: name, Value: typeOf(d.Rows, i)})
	}
	if d.Note = "All rows."; more || len(d.Rows) == previewRows {
		d.Note = "The first " + view.Plural(len(d.Rows), "row") + "."
	}
}

func cut(row []string) []string {
	row = row[:min(len(row), previewColumns)]
	for i, cell := range row {
		row[i] = view.Cut(strings.ToValidUTF8(cell, "\ufffd"), maxCell)
	}
	return row
}

// typeOf is the narrowest type that all values of a column have.
func typeOf(rows [][]string, i int) string {
	kind := ""
	for _, row := range rows {
		if i >= len(row) || row[i] == "" {
			continue
		}
		_, whole := strconv.ParseInt(row[i], 10, 64)
		_, number := strconv.ParseFloat(row[i], 64)
		switch {
		case whole == nil && (kind == "" || kind == "integer"):
			kind = "integer"
		case number == nil && kind != "string":
			kind = "number"
		default:
			kind = "string"
		}
	}
	return cmp.Or(kind, "empty")
}
