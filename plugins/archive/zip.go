package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/klauspost/compress/zip"
)

// zipFile is a file of an opened zip archive with its checked entry.
type zipFile struct {
	Entry
	file *zip.File
}

// openZip reads and checks the directory of a zip archive.
func openZip(src Source, g *guard) ([]zipFile, error) {
	r, err := zip.NewReader(src.ReaderAt, src.Size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	out := make([]zipFile, 0, len(r.File))
	for _, f := range r.File {
		e := Entry{Name: f.Name, Folder: f.FileInfo().IsDir(), Size: int64(f.UncompressedSize64), Executable: f.Mode()&0o100 != 0}
		switch mode := f.Mode(); {
		case mode&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%w: %q is a link", ErrUnsafe, f.Name)
		case !mode.IsRegular() && !mode.IsDir():
			return nil, fmt.Errorf("%w: %q is neither a file nor a folder", ErrUnsafe, f.Name)
		case f.Flags&1 != 0:
			return nil, fmt.Errorf("%w: %q is encrypted", ErrFormat, f.Name)
		}
		if err := g.admit(&e); err != nil {
			return nil, err
		}
		if e.Name != "." {
			out = append(out, zipFile{e, f})
		}
	}
	return out, checkOverlap(out)
}

// checkOverlap refuses entries that share bytes.
func checkOverlap(files []zipFile) error {
	type span struct {
		from, to int64
		name     string
	}
	spans := make([]span, 0, len(files))
	for _, f := range files {
		from, err := f.file.DataOffset()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
		spans = append(spans, span{from, from + int64(f.file.CompressedSize64), f.Name})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to {
			return fmt.Errorf("%w: %q and %q share bytes", ErrUnsafe, spans[i-1].name, spans[i].name)
		}
	}
	return nil
}

func (f zipFile) open() (io.ReadCloser, error) {
	r, err := f.file.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrFormat, f.Name, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{&exactReader{r, f.Size, f.Name}, r}, nil
}

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
