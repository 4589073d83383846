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
	var p Packer
	var z io.WriteCloser = nopCloser{w}
	var err error
	switch format {
	case Zip:
		p, err = newZipPacker(w, o)
	case SevenZip:
		p, err = newSevenZipPacker(w)
	case Tar:
	case TarGzip:
		z = gzip.NewWriter(w)
	case TarZstd:
		z, err = zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	default:
		err = fmt.Errorf("format %q is not one of zip, tar, tar.gz, tar.zst, 7z", format)
	}
	if err != nil {
		return nil, fmt.Errorf("pack archive: %w", err)
	}
	if p == nil {
		p = &tarPacker{z: z, t: tar.NewWriter(z)}
	}
	return &guardedPacker{p, format, &guard{limits: DefaultLimits(), seen: map[string]bool{}}}, nil
}

// guardedPacker checks names.
type guardedPacker struct {
	Packer
	format Format
	guard  *guard
}

// Create implements Packer.
func (p *guardedPacker) Create(name string) (io.Writer, error) {
	e := Entry{Name: name, Size: -1}
	if err := p.guard.admit(&e); err != nil {
		return nil, fmt.Errorf("pack %s archive: %w", p.format, err)
	}
	return p.Packer.Create(e.Name)
}

// Folder implements Packer.
func (p *guardedPacker) Folder(name string) error {
	e := Entry{Name: name, Folder: true}
	if err := p.guard.admit(&e); err != nil || e.Name == "." {
		return err
	}
	return p.Packer.Folder(e.Name)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

type zipPacker struct {
	z     *zip.Writer
	store bool
}

// newZipPacker returns a packer with one compressor for all members, because
// creating one takes far longer than compressing a small file. After a reset it
// produces the same bytes as a new one.
func newZipPacker(w io.Writer, o PackOptions) (Packer, error) {
	deflate, err := flate.NewWriter(nil, 6)
	if err != nil {
		return nil, err
	}
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		deflate.Reset(w)
		return deflate, nil
	})
	return &zipPacker{z: z, store: o.Store}, nil
}

// Create implements Packer.
func (p *zipPacker) Create(name string) (io.Writer, error) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	if p.store {
		h.Method = zip.Store
	}
	h.SetMode(0o644)
	return p.z.CreateHeader(h)
}

// Folder implements Packer.
func (p *zipPacker) Folder(name string) error {
	h := &zip.FileHeader{Name: name + "/"}
	h.SetMode(0o755)
	_, err := p.z.CreateHeader(h)
	return err
}

// Close implements Packer.
func (p *zipPacker) Close() error { return p.z.Close() }

// tarPacker buffers each file, since a tar entry has the file's size before its
// bytes.
type tarPacker struct {
	z    io.WriteCloser
	t    *tar.Writer
	name string
	buf  bytes.Buffer
}

// Create implements Packer.
func (p *tarPacker) Create(name string) (io.Writer, error) {
	if err := p.flush(); err != nil {
		return nil, err
	}
	p.name = name
	return &p.buf, nil
}

// Folder implements Packer.
func (p *tarPacker) Folder(name string) error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
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
