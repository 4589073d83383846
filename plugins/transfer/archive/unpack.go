package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Unpack writes an archive's entries below a folder, which must exist. A file
// that already exists is an error; nothing is replaced.
func Unpack(ctx context.Context, src Source, format Format, limits Limits, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("unpack archive: %w", err)
	}
	defer root.Close()
	return Walk(ctx, src, format, limits, func(e Entry, r io.Reader) error {
		name := filepath.FromSlash(e.Name)
		if e.Folder {
			return root.MkdirAll(name, 0o755)
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if e.Executable {
			mode = 0o755
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	})
}

// FirstCSV passes the first CSV file of the archive at a path, whose suffix
// gives the format, and reports whether there is one.
func FirstCSV(ctx context.Context, path string, use func(name string, r io.Reader) error) (found bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	err = Walk(ctx, Source{f, info.Size()}, FormatOf(path), DefaultLimits(), func(e Entry, r io.Reader) error {
		if found || e.Folder || !strings.EqualFold(filepath.Ext(e.Name), ".csv") {
			return nil
		}
		found = true
		return use(e.Name, r)
	})
	return found, err
}
