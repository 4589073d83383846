package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// walkTar passes the entries in order with their number.
func walkTar(ctx context.Context, src Source, format Format, g *guard, visit func(int64, Entry, io.Reader) error) error {
	section := io.NewSectionReader(src, 0, src.Size)
	packed := &tarFile{bufio.NewReaderSize(section, int(min(1<<20, src.Size))), section}
	plain, closePlain, err := decompress(packed, format)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
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

// decompress returns the bytes of a tar archive, and what frees its memory.
func decompress(r io.Reader, format Format, limits ...zstd.DOption) (io.Reader, func(), error) {
	switch format {
	case TarGzip:
		z, err := gzip.NewReader(r)
		return z, func() { _ = z.Close() }, err
	case TarZstd:
		z, err := zstd.NewReader(r, append([]zstd.DOption{zstd.WithDecoderMaxWindow(maxDictionary)}, limits...)...)
		return z, func() { z.Close() }, err
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

// tar unpacks a tar file: one goroutine reads it from beginning to end while
// others hash and store the bytes.
func (u *unpacker) tar(format Format) error {
	return walkTar(u.ctx, u.src, format, u.guard, func(index int64, e Entry, r io.Reader) error {
		switch {
		case e.Folder:
			return u.folder(e.Name)
		case u.done.has(index):
			return nil
		}
		return u.put(index, e, r, u.do)
	})
}

// put stores an entry: a small one is read at once and stored by do, which may pass it to the
// workers; a large one is stored while it is read.
func (u *unpacker) put(index int64, e Entry, r io.Reader, do func(task func() error) error) error {
	if e.Size > smallEntry {
		return u.putStream(index, e, r)
	}
	buf := smallBuffers.Get().(*smallBuffer)
	if err := readWhole(r, buf[:e.Size]); err != nil {
		return err
	}
	return do(func() error {
		defer smallBuffers.Put(buf)
		return u.putBytes(index, e, buf[:e.Size])
	})
}

// readWhole fills buf from r, which must then end.
func readWhole(r io.Reader, buf []byte) error {
	if _, err := io.ReadFull(r, buf); err != nil {
		return err
	}
	return atEnd(r)
}

// emptyFile stores an entry without bytes.
func (u *unpacker) emptyFile(index int64, e Entry) error {
	if e.Folder {
		return u.folder(e.Name)
	}
	if u.done.has(index) {
		return nil
	}
	return u.put(index, e, strings.NewReader(""), u.do)
}

// TarReader reads a tar archive, as tar.Reader does, and sees its end. An
// archive ends with its end mark or, as Python and GNU tar have it, where an
// entry and its padding end. It is cut off everywhere else.
type TarReader struct {
	*tar.Reader
	in     *tarInput
	sparse bool
}

// NewTarReader returns a reader of an uncompressed archive.
func NewTarReader(r io.Reader) *TarReader {
	in := &tarInput{r: r, end: math.MaxInt64}
	return &TarReader{Reader: tar.NewReader(in), in: in}
}

// Read reads from the entry. Its errors are ErrFormat.
func (t *TarReader) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return n, err
}

// Next goes to the next entry. It returns io.EOF at the end of the archive.
// Its other errors are ErrFormat.
func (t *TarReader) Next() (*tar.Header, error) {
	if t.sparse { // only its reader knows how many bytes the archive has of it
		if _, err := io.Copy(io.Discard, t); err != nil {
			return nil, err
		}
		t.in.endAfter(0)
	}
	h, err := t.Reader.Next()
	if err == io.EOF {
		return nil, err
	}
	if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // names are checked elsewhere
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	t.sparse = h.Typeflag == tar.TypeGNUSparse
	for key := range h.PAXRecords {
		t.sparse = t.sparse || strings.HasPrefix(key, "GNU.sparse.")
	}
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		t.in.end = math.MaxInt64 // an entry must follow
	case tar.TypeLink, tar.TypeSymlink, tar.TypeChar, tar.TypeBlock, tar.TypeDir, tar.TypeFifo:
		t.in.endAfter(0)
	default:
		t.in.endAfter(h.Size)
	}
	if t.sparse {
		t.in.end = math.MaxInt64
	}
	return h, nil
}

// tarBlock is the size of the units of a tar archive.
const tarBlock = 512

// tarInput is the bytes of an archive. They may end only at end, or with one
// block of the end mark after it.
type tarInput struct {
	r       io.Reader
	at, end int64
}

// endAfter lets the archive end after size more bytes and their padding.
func (t *tarInput) endAfter(size int64) {
	t.end = (t.at + size + tarBlock - 1) &^ (tarBlock - 1)
}

// Read implements io.Reader.
func (t *tarInput) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.at += int64(n)
	switch {
	case err != io.EOF || t.at == t.end || t.at == t.end+tarBlock:
		return n, err
	case n > 0:
		return n, nil // the end mark may be in them
	}
	return 0, fmt.Errorf("the archive is cut off after %d bytes: %w", t.at, io.ErrUnexpectedEOF)
}

// Seek implements io.Seeker, by which tar skips an entry, if r does.
func (t *tarInput) Seek(offset int64, whence int) (at int64, err error) {
	s, ok := t.r.(io.Seeker)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	if at, err = s.Seek(offset, whence); err == nil {
		t.at = at
	}
	return at, err
}
