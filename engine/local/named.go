package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
)

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
