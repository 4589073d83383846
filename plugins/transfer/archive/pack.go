package archive

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"unicode/utf16"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"
	"github.com/mleflow/mleflow/cache/leaf/lists"
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
	*zip.Writer
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
	return &zipPacker{z, o.Store}, nil
}

// Create implements Packer.
func (p *zipPacker) Create(name string) (io.Writer, error) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	if p.store {
		h.Method = zip.Store
	}
	h.SetMode(0o644)
	return p.CreateHeader(h)
}

// Folder implements Packer.
func (p *zipPacker) Folder(name string) error {
	h := &zip.FileHeader{Name: name + "/"}
	h.SetMode(0o755)
	_, err := p.CreateHeader(h)
	return err
}

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

// sevenZipPacker writes a 7z archive with one Deflate folder. The packed bytes
// are kept in a temporary file, because the format starts with the position of
// its end.
type sevenZipPacker struct {
	w     io.Writer
	spool *os.File
	z     *flate.Writer
	files []packedFile
}

type packedFile struct {
	name   string
	folder bool
	size   int64
	crc    uint32
}

func newSevenZipPacker(w io.Writer) (Packer, error) {
	spool, err := os.CreateTemp("", "7z-")
	if err != nil {
		return nil, err
	}
	// Without a name, the file disappears with its last user even if nobody calls
	// Close.
	_ = os.Remove(spool.Name())
	p := &sevenZipPacker{w: w, spool: spool}
	if p.z, err = flate.NewWriter(spool, 6); err != nil {
		return nil, errors.Join(err, spool.Close())
	}
	return p, nil
}

// Create implements Packer.
func (p *sevenZipPacker) Create(name string) (io.Writer, error) {
	p.files = append(p.files, packedFile{name: name})
	return p, nil
}

// Write adds to the file that was created last.
func (p *sevenZipPacker) Write(b []byte) (int, error) {
	f := &p.files[len(p.files)-1]
	f.size += int64(len(b))
	f.crc = crc32.Update(f.crc, crc32.IEEETable, b)
	return p.z.Write(b)
}

// Folder implements Packer.
func (p *sevenZipPacker) Folder(name string) error {
	p.files = append(p.files, packedFile{name: name, folder: true})
	return nil
}

// Close implements Packer.
func (p *sevenZipPacker) Close() error {
	defer p.spool.Close()
	if err := p.z.Close(); err != nil {
		return err
	}
	packed, err := p.spool.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = p.spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	header := p.header(packed)
	head := make([]byte, szHeadSize)
	copy(head, szSignature+"\x00\x04")
	binary.LittleEndian.PutUint64(head[12:], uint64(packed))
	binary.LittleEndian.PutUint64(head[20:], uint64(len(header)))
	binary.LittleEndian.PutUint32(head[28:], crc32.ChecksumIEEE(header))
	binary.LittleEndian.PutUint32(head[8:], crc32.ChecksumIEEE(head[12:]))
	_, err = io.Copy(p.w, io.MultiReader(bytes.NewReader(head), p.spool, bytes.NewReader(header)))
	return err
}

// header writes what readSevenZipHeader reads. Only the files with bytes have streams.
func (p *sevenZipPacker) header(packed int64) []byte {
	h := []byte{idHeader}
	full := slices.DeleteFunc(slices.Clone(p.files), func(f packedFile) bool { return f.size == 0 })
	if len(full) > 0 {
		h = append(h, idMainStreams)
		h = append(appendNumber(append(h, idPackInfo), 0), 1, idSize)
		h = append(appendNumber(h, uint64(packed)), idEnd)
		h = append(h, idUnpackInfo, idFolder, 1, 0, 1, 3, 4, 1, 8, idCodersSize)
		total := lists.Sum(full, func(f packedFile) int64 { return f.size })
		h = append(appendNumber(h, uint64(total)), idEnd, idSubStreams, idNumStreams)
		h = appendNumber(h, uint64(len(full)))
		if len(full) > 1 {
			h = append(h, idSize)
		}
		for _, f := range full[:len(full)-1] {
			h = appendNumber(h, uint64(f.size))
		}
		h = append(h, idCRC, 1)
		for _, f := range full {
			h = binary.LittleEndian.AppendUint32(h, f.crc)
		}
		h = append(h, idEnd, idEnd)
	}
	return append(p.appendFiles(append(h, idFiles)), idEnd)
}

// appendFiles appends the names of all files and their Windows attributes, with Unix modes in the
// upper half.
func (p *sevenZipPacker) appendFiles(h []byte) []byte {
	const unix, archive, directory = 0x8000, 0x20, 0x10
	h = appendNumber(h, uint64(len(p.files)))
	var empty, emptyFile []bool
	names, attributes := []byte{0}, []byte{1, 0}
	for _, f := range p.files {
		empty = append(empty, f.size == 0)
		if f.size == 0 {
			emptyFile = append(emptyFile, !f.folder)
		}
		for _, u := range utf16.Encode([]rune(f.name)) {
			names = binary.LittleEndian.AppendUint16(names, u)
		}
		names = append(names, 0, 0)
		attr := uint32(0o100644<<16 | unix | archive)
		if f.folder {
			attr = 0o040755<<16 | unix | directory
		}
		attributes = binary.LittleEndian.AppendUint32(attributes, attr)
	}
	if len(emptyFile) > 0 {
		h = appendProperty(h, idEmptyStream, packBits(empty))
		h = appendProperty(h, idEmptyFile, packBits(emptyFile))
	}
	h = appendProperty(h, idNames, names)
	h = appendProperty(h, idAttributes, attributes)
	return append(h, idEnd)
}

func appendProperty(h []byte, id byte, data []byte) []byte {
	return append(appendNumber(append(h, id), uint64(len(data))), data...)
}

func packBits(flags []bool) []byte {
	out := make([]byte, (len(flags)+7)/8)
	for i, is := range flags {
		if is {
			out[i/8] |= 0x80 >> (i % 8)
		}
	}
	return out
}

// appendNumber writes a number in 7z's encoding. Numbers above 127 take nine
// bytes.
func appendNumber(h []byte, v uint64) []byte {
	if v < 0x80 {
		return append(h, byte(v))
	}
	return binary.LittleEndian.AppendUint64(append(h, 0xff), v)
}
