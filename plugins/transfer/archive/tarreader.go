package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

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
