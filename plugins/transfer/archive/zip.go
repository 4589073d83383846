package archive

import (
	"context"
	"errors"
	"io"
)

// openZip reads and checks the directory of a zip archive.
func openZip(src Source, g *guard) (*zipDir, error) {
	dir, err := findZipDir(src)
	if err == nil {
		err = dir.check(g)
	}
	return dir, err
}

func walkZip(ctx context.Context, src Source, g *guard, visit func(Entry, io.Reader) error) error {
	dir, err := openZip(src, g)
	if err != nil {
		return err
	}
	return dir.each(func(h *zipHeader) error {
		if err := ctx.Err(); err != nil || h.Name == "." {
			return err
		}
		if h.Folder {
			return visit(h.Entry, nil)
		}
		r, err := h.openStream(src)
		if err != nil {
			return err
		}
		return errors.Join(visit(h.Entry, r), r.Close())
	})
}
