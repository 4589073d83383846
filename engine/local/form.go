package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

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
