//go:build !linux

package tree

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Remove removes path and everything below it. A path that does not exist is
// not an error.
func Remove(path string) error { return os.RemoveAll(path) }

// Measure returns the total size of path and the files below it.
func Measure(path string) (bytes int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, err
}
