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

// walkTar passes the entries in order with their number.
func walkTar(ctx context.Context, src Source, format Format, g *guard, visit func(int64, Entry, io.Reader) error) error {
	section := io.NewSectionReader(src, 0, src.Size)
	packed := &tarFile{bufio.NewReaderSize(section, int(min(1<<20, src.Size))), section}
	plain, closePlain, err := decompress(packed, format)
	if err != nil {
		return err
	}
	defer closePlain()
	r := NewTarReader(plain)
	for index := int64(0); ; index++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := r.Next()
		if err == io.EOF {
			return checkEnd(plain)
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		e := Entry{Name: h.Name, Folder: h.Typeflag == tar.TypeDir, Size: h.Size}
		switch h.Typeflag {
		case tar.TypeDir:
		case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
			e.Executable = h.Mode&0o100 != 0
		default:
			return fmt.Errorf("%w: %q is neither a file nor a folder but a link, a device or an extension (type %q)", ErrUnsafe, h.Name, h.Typeflag)
		}
		if err := g.admit(&e); err != nil {
			return err
		}
		if e.Name == "." {
			continue
		}
		if err := visit(index, e, r); err != nil {
			return err
		}
	}
}

// maxPadding limits the bytes after the end mark of a tar archive: writers fill
// up a record, which is 10 KiB or, on tapes, several MiB.
const maxPadding = 64 << 20

// checkEnd reads the bytes after the end mark, so that the checksum of compressed
// data is checked, and rejects anything but padding.
func checkEnd(plain io.Reader) error {
	buf := make([]byte, 32<<10)
	for total := 0; ; {
		n, err := plain.Read(buf)
		if total += n; total > maxPadding || len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return fmt.Errorf("%w: there are data after the end of the archive", ErrFormat)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
}

func decompress(r io.Reader, format Format, limits ...zstd.DOption) (io.Reader, func(), error) {
	switch format {
	case TarGzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return z, func() { _ = z.Close() }, nil
	case TarZstd:
		z, err := zstd.NewReader(r, append([]zstd.DOption{zstd.WithDecoderMaxWindow(maxDictionary)}, limits...)...)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

// tarFile reads an archive's bytes from the start, in large pieces, and can
// skip some, which tar does with members that nobody reads. Decompressors need
// no buffer of their own, since it reads single bytes.
type tarFile struct {
	*bufio.Reader
	at *io.SectionReader
}

// Seek implements io.Seeker, but only forward from where it is.
func (f *tarFile) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekCurrent || offset < 0 {
		return 0, errors.ErrUnsupported
	}
	read, _ := f.at.Seek(0, io.SeekCurrent)
	buffered := int64(f.Buffered())
	at := read - buffered + offset
	if offset <= buffered {
		_, err := f.Discard(int(offset))
		return at, err
	}
	_, err := f.at.Seek(at, io.SeekStart)
	f.Reset(f.at)
	return at, err
}
