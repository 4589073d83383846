package archive

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"unicode/utf16"

	"github.com/klauspost/compress/flate"
)

// sevenZipPacker writes a 7z archive with one Deflate folder. The packed bytes
// are kept in a temporary file, because the format starts with the position of
// its end.
type sevenZipPacker struct {
	w      io.Writer
	spool  *os.File
	packed countingWriter
	z      *flate.Writer
	files  []packedFile
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
	p := &sevenZipPacker{w: w, spool: spool, packed: countingWriter{w: spool}}
	if p.z, err = flate.NewWriter(&p.packed, 6); err != nil {
		return nil, errors.Join(err, spool.Close())
	}
	return p, nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
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
	header := p.header()
	head := make([]byte, szHeadSize)
	copy(head, szSignature+"\x00\x04")
	binary.LittleEndian.PutUint64(head[12:], uint64(p.packed.n))
	binary.LittleEndian.PutUint64(head[20:], uint64(len(header)))
	binary.LittleEndian.PutUint32(head[28:], crc32.ChecksumIEEE(header))
	binary.LittleEndian.PutUint32(head[8:], crc32.ChecksumIEEE(head[12:]))
	_, err := p.w.Write(head)
	if _, seekErr := p.spool.Seek(0, io.SeekStart); err == nil {
		err = seekErr
	}
	if err == nil {
		_, err = io.Copy(p.w, p.spool)
	}
	if err == nil {
		_, err = p.w.Write(header)
	}
	return err
}

// header writes what readSevenZipHeader reads.
func (p *sevenZipPacker) header() []byte {
	h := []byte{idHeader}
	if full := p.full(); len(full) > 0 {
		h = append(h, idMainStreams)
		h = append(appendNumber(append(h, idPackInfo), 0), 1, idSize)
		h = append(appendNumber(h, uint64(p.packed.n)), idEnd)
		h = append(h, idUnpackInfo, idFolder, 1, 0, 1, 3, 4, 1, 8, idCodersSize)
		total := uint64(0)
		for _, f := range full {
			total += uint64(f.size)
		}
		h = append(appendNumber(h, total), idEnd, idSubStreams, idNumStreams)
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

// full returns the files that have bytes.
func (p *sevenZipPacker) full() []packedFile {
	var out []packedFile
	for _, f := range p.files {
		if f.size > 0 {
			out = append(out, f)
		}
	}
	return out
}

func (p *sevenZipPacker) appendFiles(h []byte) []byte {
	h = appendNumber(h, uint64(len(p.files)))
	var empty, emptyFile []bool
	names := []byte{0}
	for _, f := range p.files {
		empty = append(empty, f.size == 0)
		if f.size == 0 {
			emptyFile = append(emptyFile, !f.folder)
		}
		for _, u := range utf16.Encode([]rune(f.name)) {
			names = binary.LittleEndian.AppendUint16(names, u)
		}
		names = append(names, 0, 0)
	}
	if len(emptyFile) > 0 {
		h = appendProperty(h, idEmptyStream, packBits(empty))
		h = appendProperty(h, idEmptyFile, packBits(emptyFile))
	}
	h = appendProperty(h, idNames, names)
	h = appendProperty(h, idAttributes, p.attributes())
	return append(h, idEnd)
}

// attributes returns Windows attributes with Unix modes in their upper half.
func (p *sevenZipPacker) attributes() []byte {
	const unix, archive, directory = 0x8000, 0x20, 0x10
	out := []byte{1, 0}
	for _, f := range p.files {
		attr := uint32(0o100644<<16 | unix | archive)
		if f.folder {
			attr = 0o040755<<16 | unix | directory
		}
		out = binary.LittleEndian.AppendUint32(out, attr)
	}
	return out
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
