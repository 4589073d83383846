package transform

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var filesVerb = Verb{
	Name: "files", Params: []string{"pattern"},
	Summary: "The files of the raw data whose path matches a pattern: a table of path, folder (the parent's name), name and stem (without the last suffix).",
	Detail:  `* and ? match within a name, ** any number of folders, other characters themselves. Rows are sorted by path, part by part and by code points ("a/z" before "a-b/a"). Without a match the table is empty.`,
	Source:  "sorted(pathlib.Path.glob(pattern))",
	Func:    listFiles,
}

func listFiles(in *Input, pattern string) (*table.Table, error) {
	paths, err := matching(in, pattern, false)
	if err != nil {
		return nil, fmt.Errorf("files %q: %w", pattern, err)
	}
	return filesTable(paths)
}

var foldersVerb = Verb{
	Name: "folders", Params: []string{"pattern"},
	Summary: "The folders of the raw data whose path matches a pattern, as files.",
	Source:  "sorted(path for path in pathlib.Path.glob(pattern) if path.is_dir())",
	Func: func(in *Input, pattern string) (*table.Table, error) {
		paths, err := matching(in, pattern, true)
		if err != nil {
			return nil, fmt.Errorf("folders %q: %w", pattern, err)
		}
		return filesTable(paths)
	},
}

// matching returns the paths of the files, or of the folders, that match a
// pattern.
func matching(in *Input, pattern string, folders bool) ([]string, error) {
	if !fs.ValidPath(path.Clean(pattern)) || path.Clean(pattern) != pattern {
		return nil, fmt.Errorf("not a path relative to the root of the raw data")
	}
	var paths []string
	err := walkPattern(in.Raw, ".", strings.Split(pattern, "/"), folders, &paths)
	return paths, err
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

func walkPattern(raw fs.FS, dir string, parts []string, folders bool, out *[]string) error {
	if len(parts) > 1 && !strings.ContainsAny(parts[0], "*?") {
		next := path.Join(dir, parts[0])
		if info, err := fs.Stat(raw, next); err != nil || !info.IsDir() {
			return nil
		}
		return walkPattern(raw, next, parts[1:], folders, out)
	}
	entries, err := fs.ReadDir(raw, dir)
	if err != nil {
		return err
	}
	if parts[0] == "**" && len(parts) > 1 {
		if err := walkPattern(raw, dir, parts[1:], folders, out); err != nil {
			return err
		}
	}
	for _, e := range entries {
		next := path.Join(dir, e.Name())
		switch {
		case parts[0] == "**" && e.IsDir():
			if folders && len(parts) == 1 {
				*out = append(*out, next)
			}
			err = walkPattern(raw, next, parts, folders, out)
		case parts[0] == "**" && len(parts) == 1:
			if !folders {
				*out = append(*out, next)
			}
		case !matchName(parts[0], e.Name()):
		case len(parts) == 1 && e.IsDir() == folders:
			*out = append(*out, next)
		case len(parts) > 1 && e.IsDir():
			err = walkPattern(raw, next, parts[1:], folders, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
