package archive

import (
	"archive/tar"
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
	packed := &tarFile{src: src, buf: make([]byte, max(1, min(1<<20, src.Size)))}
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

// maxPadding limits what may follow the end mark of a tar archive: writers fill
// up a record, which is 10 KiB or, on tapes, several MiB.
const maxPadding = 64 << 20

// checkEnd reads what follows the end mark, so that the checksum of compressed
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

func decompress(r io.Reader, format Format) (io.Reader, func(), error) {
	switch format {
	case TarGzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return z, func() { _ = z.Close() }, nil
	case TarZstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxDictionary))
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

// tarFile reads an archive's bytes from the start, in large pieces, and can
// skip some, which tar does with members that nobody reads.
type tarFile struct {
	src  Source
	buf  []byte
	from int // the part of buf that was read
	to   int
	next int64 // offset in the file of what follows buf
}

// Read implements io.Reader.
func (f *tarFile) Read(p []byte) (int, error) {
	if f.from == f.to {
		n, err := f.src.ReadAt(f.buf[:min(int64(len(f.buf)), f.src.Size-f.next)], f.next)
		if n == 0 {
			if err == nil {
				err = io.EOF
			}
			return 0, err
		}
		f.from, f.to, f.next = 0, n, f.next+int64(n)
	}
	n := copy(p, f.buf[f.from:f.to])
	f.from += n
	return n, nil
}

// ReadByte implements io.ByteReader, so that decompressors need no buffer of
// their own.
func (f *tarFile) ReadByte() (byte, error) {
	if f.from == f.to {
		var one [1]byte
		_, err := io.ReadFull(f, one[:])
		return one[0], err
	}
	f.from++
	return f.buf[f.from-1], nil
}

// Seek implements io.Seeker.
func (f *tarFile) Seek(offset int64, whence int) (int64, error) {
	at := f.next - int64(f.to-f.from)
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += at
	default:
		offset += f.src.Size
	}
	if offset < 0 {
		return at, errors.New("seek before the start of an archive")
	}
	if skip := offset - at; skip >= 0 && skip <= int64(f.to-f.from) {
		f.from += int(skip)
		return offset, nil
	}
	f.from, f.to, f.next = 0, 0, min(offset, f.src.Size)
	return offset, nil
}
