package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/tree"
)

// maxText is the maximum size of a file that is used as a string.
const maxText = 1 << 20

// defaultExclude is always excluded from folders: leftovers of version control,
// Python and notebooks.
var defaultExclude = []string{".git", "__pycache__", "*.pyc", ".ipynb_checkpoints", ".DS_Store"}

// Folder returns the Files of the folder dir, an absolute path. Files below one
// of the private folders are marked private. A folder that contains a private
// folder excludes it. Digests may be known.
func Folder(dir string, private []string, digests *Digests) *Files {
	f := &Files{dir: dir, roots: checkout.Roots(dir), digests: digests, answers: map[string]*answer{}}
	for _, name := range private {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			f.private = append(f.private, real)
		}
	}
	f.read = func(a *Answer) (err error) {
		a.Private = isPrivate(f.at(a.Path), f.private)
		switch a.Op {
		case "text":
			a.Text, err = f.text(a.Path)
		case "list":
			a.List, err = f.list(a, a.Patterns[0])
		default:
			a.Ref, err = f.store(context.Background(), cache.HashOnly{}, a, f.digests.Of)
		}
		return explain(a.Path, err)
	}
	return f
}

// Confine makes a folder, without links, the only one that may be read. It may lie in a
// private one. An empty path changes nothing.
func (f *Files) Confine(within string) {
	if within != "" {
		f.within, f.roots = within, []string{within}
		f.private = slices.DeleteFunc(f.private, func(dir string) bool { return checkout.Below(within, dir) })
	}
}

// at returns the absolute form of a path, as the disk has it.
func (f *Files) at(path string) string {
	if filepath.IsAbs(path) {
		return onDisk(filepath.Clean(path))
	}
	return onDisk(filepath.Join(f.dir, path))
}

// Give makes a file or folder outside that the user named, and not the pipeline, one
// whose text may be shown.
func (f *Files) Give(path string) {
	if f.read == nil || f.within != "" || path == "" || len(path) > maxPath {
		return
	}
	real, err := checkout.Follow(f.at(path))
	if home := checkout.Home(); err == nil && real != "/" && (home == "" || !checkout.Below(home, real)) {
		f.roots = append(f.roots, real)
	}
}

// follow returns the path without links of a file or folder that may be read. The error
// of one outside does not tell whether it is there.
func (f *Files) follow(path string) (real string, err error) {
	at := f.at(path)
	if real, err = checkout.Follow(at); err != nil {
		return "", cmp.Or(f.outside(path, at), err)
	}
	return real, f.outside(path, real)
}

// outside refuses a path that is not in the only folder that may be read.
func (f *Files) outside(path, real string) error {
	if f.within == "" || checkout.Below(real, f.within) {
		return nil
	}
	return fmt.Errorf("%s is outside the pipeline's folder, and a submitted pipeline may read nothing else of the server: submit the file with the pipeline", path)
}

// maxPath is more than a path can have.
const maxPath = 1 << 12

// shown returns the path without links of a file or folder whose text or names the
// pipeline may show.
func (f *Files) shown(path string) (string, error) {
	real, err := f.follow(path)
	if err == nil && !checkout.Shows(real, f.roots) {
		err = fmt.Errorf("%s is not a file of the pipeline's folder or of its repository, so its text is not shown: copy it there, or give its path from outside, as in -var NAME=%s; as content, by its digest, it can be used as it is", path, path)
	}
	return real, err
}

// explain rephrases an error about a path in the user's terms.
func explain(path string, err error) error {
	var wrong *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s in the pipeline's folder", path)
	case errors.As(err, &wrong):
		return fmt.Errorf("%s cannot be read: %w", path, wrong.Err)
	}
	return err
}

// known returns the content of an open file, and calls read if it has to be read.
type known func(f *os.File, read func() (cache.Ref, error)) (cache.Ref, error)

// unknown reads every file.
func unknown(_ *os.File, read func() (cache.Ref, error)) (cache.Ref, error) { return read() }

// store puts the content of a into the store, except files that are known, and records
// whether it is executable.
func (f *Files) store(ctx context.Context, store cache.Building, a *Answer, known known) (cache.Ref, error) {
	at, err := f.follow(a.Path)
	if err != nil {
		return cache.Ref{}, err
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return cache.Ref{}, err
	case a.Op == "dir" && !info.IsDir():
		return cache.Ref{}, fmt.Errorf("%s is a file; use file(…)", a.Path)
	case a.Op == "file" && info.IsDir():
		return cache.Ref{}, fmt.Errorf("%s is a folder; use dir(…)", a.Path)
	case a.Op == "file" && !info.Mode().IsRegular():
		return cache.Ref{}, fmt.Errorf("%s is not a regular file", a.Path)
	case a.Op == "dir":
		skip, err := f.skip(a)
		if err != nil {
			return cache.Ref{}, err
		}
		return tree.Import(ctx, store, at, tree.ImportOptions{Skip: skip, Known: known})
	}
	a.Executable = info.Mode()&0o100 != 0
	file, err := checkout.Open(at)
	if err != nil {
		return cache.Ref{}, err
	}
	defer file.Close()
	switch is, err := tree.IsEncoding(io.NewSectionReader(file, 0, info.Size())); {
	case err != nil:
		return cache.Ref{}, err
	case is: // else it would have the key of the folder
		return cache.Ref{}, fmt.Errorf("%s is a folder as mleflow's cache encodes it, which is no input; use dir(…) with the folder itself, or compress the file", a.Path)
	}
	return known(file, func() (cache.Ref, error) { return cache.Put(ctx, store, file, cache.Ref{}) })
}

// skip returns a function that selects the excluded paths of a folder: matches
// of the patterns, and private folders. The function marks a as private if
// another path has private data.
func (f *Files) skip(a *Answer) (func(path string) bool, error) {
	excluded, err := matcher(a.Patterns)
	if err != nil {
		return nil, err
	}
	root, err := f.follow(a.Path)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		at := filepath.Join(root, name)
		if excluded(name) || slices.Contains(f.private, at) {
			return true
		}
		a.Private = a.Private || strings.HasSuffix(filepath.ToSlash(at), privateHalf)
		return false
	}, nil
}

// matcher returns a function that selects the excluded paths of a folder. As in
// .gitignore, a pattern without a slash matches a name in any folder.
func matcher(exclude []string) (func(path string) bool, error) {
	patterns := slices.Concat(defaultExclude, exclude)
	for i, p := range patterns {
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("%q is not a valid pattern", p)
		}
		patterns[i] = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
	}
	return func(name string) bool {
		name = cty.NormalizeString(name)
		return slices.ContainsFunc(patterns, func(p string) bool {
			if strings.Contains(p, "/") {
				return doublestar.MatchUnvalidated(strings.TrimPrefix(p, "/"), name)
			}
			return doublestar.MatchUnvalidated(p, path.Base(name))
		})
	}, nil
}

func (f *Files) text(path string) (string, error) {
	real, err := f.shown(path)
	if err != nil {
		return "", err
	}
	file, err := checkout.Open(real)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxText+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxText:
		return "", fmt.Errorf("%s is larger than 1 MiB, too large for a string; pass it to a step as content", path)
	case !utf8.Valid(data):
		return "", fmt.Errorf("%s is not UTF-8 text; pass it to a step as content", path)
	}
	return string(data), nil
}

func (f *Files) list(a *Answer, pattern string) ([]string, error) {
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("%q is not a valid pattern", pattern)
	}
	real, err := f.shown(a.Path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(real); err != nil {
		return nil, err
	}
	search := pattern
	if !plain(pattern) {
		search = "**" // what matches may be decomposed
	}
	list, err := doublestar.Glob(os.DirFS(real), search, doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors())
	if search != pattern {
		list = slices.DeleteFunc(list, func(name string) bool { return !doublestar.MatchUnvalidated(pattern, cty.NormalizeString(name)) })
	}
	list = slices.DeleteFunc(list, func(name string) bool { // below a link to a folder elsewhere
		at, err := checkout.Follow(filepath.Join(real, filepath.Dir(filepath.FromSlash(name))))
		if err != nil || !checkout.Shows(at, f.roots) {
			return true
		}
		a.Private = a.Private || isPrivate(at, f.private)
		return false
	})
	slices.Sort(list)
	return list, err
}

// Paths are the files that were read or listed, relative to the folder, sorted. An error
// is one of them that is neither in the folder nor where its text may be shown.
func (f *Files) Paths() (paths []string, err error) {
	for _, a := range f.Answers() {
		switch a.Op {
		case "list":
			for _, name := range a.List {
				paths = append(paths, path.Join(a.Path, name))
			}
		case "dir":
			skip, errSkip := f.skip(&a)
			if errSkip != nil {
				return nil, errSkip
			}
			root := f.at(a.Path)
			err = errors.Join(err, filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
				rel, errRel := filepath.Rel(root, at)
				switch {
				case err != nil || errRel != nil:
					return errors.Join(err, errRel)
				case rel != "." && skip(filepath.ToSlash(rel)) && d.IsDir():
					return fs.SkipDir
				case !d.IsDir() && !skip(filepath.ToSlash(rel)):
					paths = append(paths, path.Join(a.Path, filepath.ToSlash(rel)))
				}
				return nil
			}))
		default:
			if _, errLook := os.Lstat(f.at(a.Path)); errLook == nil { // else a shipped one
				paths = append(paths, a.Path)
			}
		}
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	for _, p := range paths {
		if filepath.IsLocal(p) {
			continue
		}
		if _, bad := f.shown(p); bad != nil || filepath.IsAbs(p) {
			err = errors.Join(err, fmt.Errorf("%s is outside the pipeline's folder and its repository", p))
		}
	}
	return paths, err
}

// privateHalf follows a competition's name in the path of its private prepared
// data.
const privateHalf = "/prepared/private"

// isPrivate reports whether a path is in one of the private folders or in the
// private half of prepared data.
func isPrivate(at string, private []string) bool {
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	return strings.Contains(filepath.ToSlash(at)+"/", privateHalf+"/") ||
		slices.ContainsFunc(private, func(dir string) bool { return checkout.Below(at, dir) })
}

// onDisk returns the path of a file as the disk has it. Strings of the language are
// composed (NFC). A name on the disk may be decomposed, as macOS and its archives
// write accents. The path is returned as it is if there is no such file, or if two
// have that name.
func onDisk(path string) string {
	if _, err := os.Lstat(path); plain(path) || !errors.Is(err, fs.ErrNotExist) {
		return path
	}
	dir := onDisk(filepath.Dir(path))
	want := cty.NormalizeString(filepath.Base(path))
	entries, _ := os.ReadDir(dir) // a folder that cannot be read has no such file
	found := ""
	for _, e := range entries {
		if cty.NormalizeString(e.Name()) != want {
			continue
		}
		if found != "" {
			return path
		}
		found = e.Name()
	}
	if found == "" {
		found = filepath.Base(path)
	}
	return filepath.Join(dir, found)
}

// plain reports whether a string has one form only.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f })
}

// Named returns the files of the folder that are named by a word of a command:
// by the word itself, or by paths that a shell would find in it. Paths are
// relative to the folder. Links that lead out of it, such as the interpreter of
// a virtual environment, are ignored.
func (f *Files) Named(word string) (found []string) {
	if f.read == nil || len(word) > 1<<16 {
		return nil
	}
	candidates := []string{word}
	if strings.ContainsAny(word, " \t\n") {
		candidates = strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&<>()=", r) })
	}
	for _, c := range candidates {
		if rel, ok := f.relative(c); ok && !slices.Contains(found, rel) {
			found = append(found, rel)
		}
	}
	return found
}

// relative returns the relative path of a regular file below the folder, composed as
// the strings of the language are.
func (f *Files) relative(name string) (string, bool) {
	if name == "" || strings.HasPrefix(name, "-") {
		return "", false
	}
	at := f.at(name)
	if info, err := os.Stat(at); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	root, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return "", false
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil || !checkout.Below(real, root) {
		return "", false
	}
	rel, err := filepath.Rel(f.dir, at)
	return cty.NormalizeString(filepath.ToSlash(rel)), err == nil && filepath.IsLocal(rel)
}
