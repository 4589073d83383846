package mask

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// open returns an archive's bytes, copied to a file if they cannot be read in
// place.
func (m *masker) open(files fs.FS, name string) (src archive.Source, format archive.Format, done func(), err error) {
	f, err := files.Open(name)
	if err != nil {
		return src, "", nil, err
	}
	src, drop, err := archive.SourceOf(f, m.work)
	if err != nil {
		return src, "", nil, errors.Join(err, f.Close())
	}
	done = func() { _ = errors.Join(drop(), f.Close()) }
	if format, err = archive.FormatIn(src, name); err != nil {
		done()
	}
	return src, format, done, err
}

// repack masks the entries of an archive and packs them, sorted by their new
// names.
func (m *masker) repack(ctx context.Context, from prep.Source, w io.Writer) error {
	src, format, done, err := m.open(from.FS, from.Name)
	if err != nil {
		return err
	}
	defer done()
	folder, err := os.MkdirTemp(m.work, "unpacked-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := archive.Unpack(ctx, src, format, archive.DefaultLimits(), folder); err != nil {
		return err
	}
	m.progress.Add(0, src.Size)
	unpacked := os.DirFS(folder)
	entries, err := m.entries(unpacked)
	if err != nil {
		return err
	}
	packer, err := archive.NewPacker(w, format, archive.PackOptions{})
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := m.entry(packer, unpacked, e); err != nil {
			return fmt.Errorf("%s: %w", e.old, err)
		}
	}
	return packer.Close()
}

// entry is a file or a folder of an archive and its new name.
type entry struct {
	old, renamed string
	folder       bool
}

// eachKept calls fn for all files and folders but those of ids that are dropped.
func (m *masker) eachKept(files fs.FS, fn func(entry) error) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !m.dropped(path.Base(name)):
			return fn(entry{name, m.path(name), d.IsDir()})
		case d.IsDir():
			return fs.SkipDir
		}
		return nil
	})
}

func (m *masker) entries(files fs.FS) (out []entry, err error) {
	err = m.eachKept(files, func(e entry) error {
		if e.old != "." {
			out = append(out, e)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.renamed, b.renamed) })
	return out, err
}

func (m *masker) entry(packer archive.Packer, files fs.FS, e entry) error {
	if e.folder {
		return packer.Folder(e.renamed)
	}
	w, err := packer.Create(e.renamed)
	if err != nil {
		return err
	}
	return m.content(m.treatmentOf(e.old), prep.Source{FS: files, Name: e.old}, w)
}

// pngText are the chunks of a PNG file that say something about it and do not
// change a pixel.
var pngText = []string{"tEXt", "zTXt", "iTXt", "tIME", "eXIf"}

// stripped copies a PNG or JPEG file without texts, times and EXIF data. From
// where a file is malformed it is copied as it is.
func stripped(w io.Writer, r *bufio.Reader) error {
	head, _ := r.Peek(8)
	var err error
	switch {
	case string(head) == "\x89PNG\r\n\x1a\n":
		err = strip(w, r, 8, 8, func(head []byte) (int64, bool) {
			return int64(binary.BigEndian.Uint32(head)) + 12, slices.Contains(pngText, string(head[4:]))
		})
	case len(head) >= 2 && head[0] == 0xff && head[1] == 0xd8:
		err = strip(w, r, 2, 4, jpegSegment)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return err
}

// strip copies the first bytes of a picture and its segments but those of text. segment
// reads the beginning of one; its size is 0 where the rest is to be copied.
func strip(w io.Writer, r *bufio.Reader, first int64, beginning int, segment func(head []byte) (size int64, text bool)) error {
	if _, err := io.CopyN(w, r, first); err != nil {
		return err
	}
	for {
		head, err := r.Peek(beginning)
		if err != nil {
			return nil // what is left is copied
		}
		size, text := segment(head)
		to := w
		if text {
			to = io.Discard
		}
		if _, err := io.CopyN(to, r, size); err != nil || size == 0 {
			return ignoreEOF(err)
		}
	}
}

// jpegSegment takes comments and application data for text; JFIF (APP0), colour profiles
// (APP2) and Adobe's colour transform (APP14), which change pixels, are none. The first
// scan ends the segments.
func jpegSegment(head []byte) (size int64, text bool) {
	marker := head[1]
	if head[0] != 0xff || marker == 0xff || marker == 0xda {
		return 0, false
	}
	return int64(binary.BigEndian.Uint16(head[2:])) + 2, marker == 0xfe || marker >= 0xe1 && marker <= 0xef && marker != 0xe2 && marker != 0xee
}
