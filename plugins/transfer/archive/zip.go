package archive

import (
	"context"
	"errors"
	"io"
)

// zipFile is a file or folder of an opened zip archive.
type zipFile struct {
	zipHeader
	src Source
}

// openZip reads and checks the directory of a zip archive.
func openZip(src Source, g *guard) ([]zipFile, error) {
	dir, err := findZipDir(src)
	if err == nil {
		err = dir.check(g)
	}
	if err != nil {
		return nil, err
	}
	var out []zipFile
	clean := cleaner()
	err = dir.each(func(h *zipHeader) error {
		if err := clean.admit(&h.Entry); err != nil {
			return err
		}
		if h.Name != "." {
			out = append(out, zipFile{*h, src})
		}
		return nil
	})
	return out, err
}

func (f zipFile) open() (io.ReadCloser, error) { return f.openStream(f.src) }

func walkZip(ctx context.Context, src Source, g *guard, visit func(Entry, io.Reader) error) error {
	files, err := openZip(src, g)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.Folder {
			if err := visit(f.Entry, nil); err != nil {
				return err
			}
			continue
		}
		r, err := f.open()
		if err != nil {
			return err
		}
		if err := errors.Join(visit(f.Entry, r), r.Close()); err != nil {
			return err
		}
	}
	return nil
}
