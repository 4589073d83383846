package mask

import (
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

	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// open returns an archive's bytes, copied to a file if they cannot be read in
// place.
func (m *masker) open(files fs.FS, name string) (src archive.Source, format archive.Format, done func(), err error) {
	f, err := files.Open(name)
	if err != nil {
		return src, "", nil, err
	}
	src, drop, err := archive.SourceOf(f, m.work)
	if err != nil {
		return src, "", nil, errors.Join(err, f.Close())
	}
	done = func() { _ = errors.Join(drop(), f.Close()) }
	if format, err = archive.FormatIn(src, name); err != nil {
		done()
	}
	return src, format, done, err
}

// repack masks the entries of an archive and packs them, sorted by their new
// names.
func (m *masker) repack(ctx context.Context, from prep.Source, w io.Writer) error {
	src, format, done, err := m.open(from.FS, from.Name)
	if err != nil {
		return err
	}
	defer done()
	folder, err := os.MkdirTemp(m.work, "unpacked-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := archive.Unpack(ctx, src, format, archive.DefaultLimits(), folder); err != nil {
		return err
	}
	m.progress.Add(0, src.Size)
	entries, err := m.entries(folder)
	if err != nil {
		return err
	}
	packer, err := archive.NewPacker(w, format, archive.PackOptions{})
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := m.entry(packer, os.DirFS(folder), e); err != nil {
			return fmt.Errorf("%s: %w", e.old, err)
		}
	}
	return packer.Close()
}

// entry is a file or a folder of an archive and its new name.
type entry struct {
	old, renamed string
	folder       bool
}

func (m *masker) entries(folder string) (out []entry, err error) {
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == folder {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if m.dropped(path.Base(rel)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		out = append(out, entry{rel, m.path(rel), d.IsDir()})
		return nil
	})
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.renamed, b.renamed) })
	return out, err
}

func (m *masker) entry(packer archive.Packer, files fs.FS, e entry) error {
	if e.folder {
		return packer.Folder(e.renamed)
	}
	w, err := packer.Create(e.renamed)
	if err != nil {
		return err
	}
	return m.content(m.treatmentOf(e.old), prep.Source{FS: files, Name: e.old}, w)
}
