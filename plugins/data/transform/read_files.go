package transform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

var filesVerb = Verb{
	Name: "files", Params: []string{"pattern"},
	Summary: "The files of the raw data whose path matches a pattern: a table of path, folder (the parent's name), name and stem (without the last suffix).",
	Detail:  `* and ? match within a name, ** any number of folders, other characters themselves. Rows are sorted by path, part by part and by code points ("a/z" before "a-b/a"). Without a match the table is empty.`,
	Source:  "sorted(pathlib.Path.glob(pattern))",
	Func:    listing("files", false),
}

// listing lists the files, or the folders, that match a pattern.
func listing(verb string, folders bool) func(*Input, string) (*table.Table, error) {
	return func(in *Input, pattern string) (*table.Table, error) {
		paths, err := matching(in, pattern, folders)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", verb, pattern, err)
		}
		return filesTable(paths)
	}
}

var foldersVerb = Verb{
	Name: "folders", Params: []string{"pattern"},
	Summary: "The folders of the raw data whose path matches a pattern, as files.",
	Source:  "sorted(path for path in pathlib.Path.glob(pattern) if path.is_dir())",
	Func:    listing("folders", true),
}

// matching returns the paths of the files, or of the folders, that match a
// pattern.
func matching(in *Input, pattern string, folders bool) (paths []string, err error) {
	if !fs.ValidPath(path.Clean(pattern)) || path.Clean(pattern) != pattern {
		return nil, fmt.Errorf("not a path relative to the root of the raw data")
	}
	parts, top := strings.Split(pattern, "/"), 0
	for top < len(parts)-1 && !strings.ContainsAny(parts[top], "*?") {
		top++
	}
	root := path.Join(".", path.Join(parts[:top]...))
	err = fs.WalkDir(in.Raw, root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case e == nil:
			return nil // there is no such folder
		case err != nil || name == root:
			return err
		}
		at := strings.Split(name, "/")
		if e.IsDir() == folders && matchPath(parts, at) {
			paths = append(paths, name)
		}
		if e.IsDir() && !leads(parts, at) {
			return fs.SkipDir
		}
		return nil
	})
	return paths, err
}

// leads reports whether paths below a folder may match a pattern, both cut at their slashes.
func leads(pattern, folder []string) bool {
	for i, part := range folder {
		if i < len(pattern) && pattern[i] == "**" {
			return true
		}
		if i >= len(pattern)-1 || !matchName(pattern[i], part) {
			return false
		}
	}
	return true
}

// filesTable returns the table of files or folders with the given paths, sorted.
func filesTable(paths []string) (*table.Table, error) {
	slices.SortFunc(paths, comparePaths)
	paths = slices.Compact(paths)
	column := func(name string, of func(string) string) *table.Column {
		return table.FromTexts(name, table.Collect(len(paths), func(i int) string { return of(paths[i]) }), nil)
	}
	return table.New(table.FromTexts("path", paths, nil), column("folder", folderName), column("name", path.Base), column("stem", stemOf))
}

// comparePaths orders slash-separated paths part by part.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// matchName matches one name against a pattern with * and ?.
func matchName(pattern, name string) bool {
	ok, _ := path.Match(literal.Replace(pattern), name)
	return ok
}

// literal quotes what else is special to path.Match.
var literal = strings.NewReplacer(`\`, `\\`, "[", `\[`)

func folderName(p string) string {
	dir := path.Dir(p)
	if dir == "." {
		return ""
	}
	return path.Base(dir)
}

// stemOf returns a path's last part without its last suffix, as pathlib's
// stem: a leading dot begins no suffix.
func stemOf(p string) string {
	base := path.Base(p)
	if dot := strings.LastIndexByte(base, '.'); dot > 0 && dot < len(base)-1 {
		return base[:dot]
	}
	return base
}

var archiveFilesVerb = Verb{
	Name: "archive_files", Params: []string{"path", "pattern"},
	Summary: "The files in an archive of the raw data whose path inside matches a pattern, a table as of files.",
	Detail:  "The archive is not unpacked.",
	Source:  "sorted(pathlib.Path.glob(pattern)) in the unpacked archive",
	Func: func(in *Input, name, pattern string) (*table.Table, error) {
		paths, err := archivePaths(in, name, pattern)
		if err != nil {
			return nil, fmt.Errorf("archive_files %s: %w", name, err)
		}
		return filesTable(paths)
	},
}

// archivePaths returns the paths in an archive, or in a folder of its name into which it was
// unpacked.
func archivePaths(in *Input, name, pattern string) (paths []string, err error) {
	if info, err := fs.Stat(in.Raw, name); err == nil && info.IsDir() {
		paths, err = matching(in, path.Join(name, pattern), false)
		return lists.Of(paths, func(p string) string { return strings.TrimPrefix(p, name+"/") }), err
	}
	parts := strings.Split(pattern, "/")
	err = walkArchive(in, name, func(e archive.Entry) {
		if !e.Folder && matchPath(parts, strings.Split(e.Name, "/")) {
			paths = append(paths, e.Name)
		}
	})
	return paths, err
}

func walkArchive(in *Input, name string, visit func(archive.Entry)) (err error) {
	f, err := in.Raw.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return errors.New("the archive cannot be read in place: it is inside another archive")
	}
	src := archive.Source{ReaderAt: at, Size: info.Size()}
	format, err := archive.FormatIn(src, name)
	if err != nil {
		return err
	}
	ctx := in.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return archive.Walk(ctx, src, format, archive.DefaultLimits(), func(e archive.Entry, _ io.Reader) error {
		visit(e)
		return nil
	})
}

// matchPath matches a path against a pattern, both cut at their slashes.
func matchPath(pattern, parts []string) bool {
	if len(pattern) == 0 || len(parts) == 0 {
		return len(pattern) == len(parts)
	}
	if pattern[0] == "**" {
		return matchPath(pattern[1:], parts) || matchPath(pattern, parts[1:]) || len(pattern) == 1
	}
	return matchName(pattern[0], parts[0]) && matchPath(pattern[1:], parts[1:])
}
