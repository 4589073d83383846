package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func walkTar(ctx context.Context, src Source, format Format, g *guard, visit func(Entry, io.Reader) error) error {
	plain, closePlain, err := decompress(bufio.NewReaderSize(io.NewSectionReader(src, 0, src.Size), 1<<20), format)
	if err != nil {
		return err
	}
	defer closePlain()
	r := tar.NewReader(plain)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := r.Next()
		if err == io.EOF {
			return checkEnd(plain)
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		e := Entry{Name: h.Name, Folder: h.Typeflag == tar.TypeDir, Size: h.Size, Executable: h.Mode&0o100 != 0}
		if !e.Folder && h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%w: %q is neither a file nor a folder but a link or a device (type %q)", ErrUnsafe, h.Name, h.Typeflag)
		}
		if err := g.admit(&e); err != nil {
			return err
		}
		if e.Name == "." {
			continue
		}
		if err := visit(e, r); err != nil {
			return err
		}
	}
}

// maxPadding bounds what may follow a tar archive's end mark: writers fill up
// a record, which is 10 KiB or, on tapes, some MiB.
const maxPadding = 64 << 20

// checkEnd reads what follows the end mark, so that the checksum of compressed
// data is compared, and refuses anything but padding.
func checkEnd(plain io.Reader) error {
	buf := make([]byte, 32<<10)
	for total := 0; ; {
		n, err := plain.Read(buf)
		if total += n; total > maxPadding || len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return fmt.Errorf("%w: there is something behind the end of the archive", ErrFormat)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
}

func decompress(r io.Reader, format Format) (io.Reader, func(), error) {
	switch format {
	case TarGzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return z, func() { _ = z.Close() }, nil
	case TarZstd:
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}
