package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"
)

// PackOptions configure a Packer.
type PackOptions struct {
	// Store leaves zip members uncompressed.
	Store bool
}

// Packer writes an archive entry by entry. A file's writer is valid until the
// next call. Names are checked in the same way as for reading.
type Packer interface {
	// Create starts a file.
	Create(name string) (io.Writer, error)
	// Folder adds a folder.
	Folder(name string) error
	// Close finishes the archive; the underlying writer stays open.
	Close() error
}

// NewPacker returns a packer that writes to w.
func NewPacker(w io.Writer, format Format, o PackOptions) (Packer, error) {
	g := &guard{limits: DefaultLimits(), seen: map[string]bool{}}
	switch format {
	case Zip:
		return newZipPacker(w, o, g)
	case Tar:
		return &tarPacker{z: nopCloser{w}, t: tar.NewWriter(w), guard: g}, nil
	case TarGzip:
		z := gzip.NewWriter(w)
		return &tarPacker{z: z, t: tar.NewWriter(z), guard: g}, nil
	case TarZstd:
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("pack archive: %w", err)
		}
		return &tarPacker{z: z, t: tar.NewWriter(z), guard: g}, nil
	case SevenZip:
		return newSevenZipPacker(w, g)
	}
	return nil, fmt.Errorf("pack archive: format %q is not one of zip, tar, tar.gz, tar.zst, 7z", format)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

type zipPacker struct {
	z     *zip.Writer
	store bool
	guard *guard
}

// newZipPacker returns a packer with one compressor for all members, because
// creating one takes far longer than compressing a small file. After a reset it
// produces the same bytes as a new one.
func newZipPacker(w io.Writer, o PackOptions, g *guard) (Packer, error) {
	deflate, err := flate.NewWriter(nil, 6)
	if err != nil {
		return nil, fmt.Errorf("pack zip archive: %w", err)
	}
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		deflate.Reset(w)
		return deflate, nil
	})
	return &zipPacker{z: z, store: o.Store, guard: g}, nil
}

// Create implements Packer.
func (p *zipPacker) Create(name string) (io.Writer, error) {
	e := Entry{Name: name, Size: -1}
	if err := p.guard.admit(&e); err != nil {
		return nil, fmt.Errorf("pack zip archive: %w", err)
	}
	h := &zip.FileHeader{Name: e.Name, Method: zip.Deflate}
	if p.store {
		h.Method = zip.Store
	}
	h.SetMode(0o644)
	return p.z.CreateHeader(h)
}

// Folder implements Packer.
func (p *zipPacker) Folder(name string) error {
	e := Entry{Name: name, Folder: true}
	if err := p.guard.admit(&e); err != nil || e.Name == "." {
		return err
	}
	h := &zip.FileHeader{Name: e.Name + "/"}
	h.SetMode(0o755)
	_, err := p.z.CreateHeader(h)
	return err
}

// Close implements Packer.
func (p *zipPacker) Close() error { return p.z.Close() }

// tarPacker buffers each file, since a tar entry has the file's size before its
// bytes.
type tarPacker struct {
	z     io.WriteCloser
	t     *tar.Writer
	guard *guard
	name  string
	buf   bytes.Buffer
}

// Create implements Packer.
func (p *tarPacker) Create(name string) (io.Writer, error) {
	if err := p.flush(); err != nil {
		return nil, err
	}
	e := Entry{Name: name, Size: -1}
	if err := p.guard.admit(&e); err != nil {
		return nil, fmt.Errorf("pack tar archive: %w", err)
	}
	p.name = e.Name
	return &p.buf, nil
}

// Folder implements Packer.
func (p *tarPacker) Folder(name string) error {
	if err := p.flush(); err != nil {
		return err
	}
	e := Entry{Name: name, Folder: true}
	if err := p.guard.admit(&e); err != nil || e.Name == "." {
		return err
	}
	return p.t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: e.Name + "/", Mode: 0o755})
}

func (p *tarPacker) flush() error {
	if p.name == "" {
		return nil
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: p.name, Mode: 0o644, Size: int64(p.buf.Len())}
	if err := p.t.WriteHeader(h); err != nil {
		return err
	}
	_, err := p.buf.WriteTo(p.t)
	p.name = ""
	p.buf.Reset()
	return err
}

// Close implements Packer.
func (p *tarPacker) Close() error {
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.t.Close(); err != nil {
		return err
	}
	return p.z.Close()
}
