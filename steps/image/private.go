package image

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
)

// checkFile rejects a path that is, is in, or contains a private folder: one of
// Deps.Private, or the private half of prepared data. A path that does not
// exist is not rejected here.
func (b *build) checkFile(name string) error {
	real, err := resolved(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, dir := range b.deps.Private {
		private, err := resolved(dir)
		if err == nil && (checkout.Below(real, private) || checkout.Below(private, real)) {
			return fmt.Errorf("%w: %s", errPrivate, dir)
		}
	}
	if strings.Contains(filepath.ToSlash(real)+"/", "/prepared/private/") {
		return fmt.Errorf("%w: the private half of prepared data", errPrivate)
	}
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "private" && filepath.Base(filepath.Dir(path)) == "prepared" {
			return fmt.Errorf("%w: %s", errPrivate, path)
		}
		return err
	})
}

// resolved returns the absolute path with links resolved.
func resolved(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
