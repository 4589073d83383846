package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Errors to compare with errors.Is.
var (
	// ErrUnsafe says that an archive would write outside its folder, or something
	// that is not allowed.
	ErrUnsafe = errors.New("unsafe archive")
	// ErrFormat says that the bytes are not a complete archive of the format, or
	// use an unsupported feature.
	ErrFormat = errors.New("not a readable archive")
)

// Format is an archive format.
type Format string

// The formats.
const (
	Zip      Format = "zip"
	Tar      Format = "tar"
	TarGzip  Format = "tar.gz"
	TarZstd  Format = "tar.zst"
	SevenZip Format = "7z"
)

// FormatOf returns the format that a file name indicates, or "".
func FormatOf(name string) Format {
	lower := strings.ToLower(name)
	for _, s := range []struct {
		suffix string
		format Format
	}{{".zip", Zip}, {".tar", Tar}, {".tar.gz", TarGzip}, {".tgz", TarGzip}, {".tar.zst", TarZstd}, {".tzst", TarZstd}, {".7z", SevenZip}} {
		if strings.HasSuffix(lower, s.suffix) {
			return s.format
		}
	}
	return ""
}

// Sniff returns the format that the first bytes of a file indicate, or "". A
// plain tar can only be recognised from byte 257 on.
func Sniff(head []byte) Format {
	for _, m := range []struct {
		at    int
		magic string
		Format
	}{
		{0, "PK\x03\x04", Zip}, {0, "PK\x05\x06", Zip}, {0, szSignature, SevenZip}, {0, "\x1f\x8b", TarGzip},
		{0, "\x28\xb5\x2f\xfd", TarZstd}, {257, "ustar", Tar},
	} {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.magic)) {
			return m.Format
		}
	}
	return ""
}

// Limits restrict what an archive may contain.
type Limits struct {
	// Entries is the largest number of entries.
	Entries int
	// Bytes is the largest total size of the unpacked files.
	Bytes int64
	// Ratio is how many times as large as the archive the unpacked files may be,
	// once they exceed 64 MiB; 0 means no limit.
	Ratio int64
}

// ratioFree is the size up to which unpacked files may have any ratio.
const ratioFree = 64 << 20

// DefaultLimits accept every known data set: 50 million entries, 4 TiB, and a
// ratio of 1,100, slightly above what Deflate can reach (1,032).
func DefaultLimits() Limits { return Limits{Entries: 50_000_000, Bytes: 4 << 40, Ratio: 1100} }

// Entry is a file or folder of an archive.
type Entry struct {
	// Name is clean, relative and slash-separated.
	Name   string
	Folder bool
	// Size is the file's size according to the archive, or -1 if the archive does
	// not say.
	Size int64
	// Executable says that the owner may execute the file.
	Executable bool
}

// Source is an archive's bytes.
type Source struct {
	io.ReaderAt
	Size int64
}

// Walk calls visit for every entry in the order of the archive. The reader of
// the file's bytes is valid only during the call and need not be read. If the
// format lists its entries up front, all names are checked first.
func Walk(ctx context.Context, src Source, format Format, limits Limits, visit func(Entry, io.Reader) error) error {
	g := &guard{limits: limits, packed: src.Size, seen: map[string]bool{}}
	var err error
	switch format {
	case Zip:
		err = walkZip(ctx, src, g, visit)
	case Tar, TarGzip, TarZstd:
		err = walkTar(ctx, src, format, g, func(_ int64, e Entry, r io.Reader) error { return visit(e, r) })
	case SevenZip:
		err = walkSevenZip(ctx, src, g, visit)
	default:
		return fmt.Errorf("read archive: %w: unknown format %q", ErrFormat, format)
	}
	if err != nil {
		return fmt.Errorf("read %s archive: %w", format, err)
	}
	return nil
}

// guard checks entries before they are used.
type guard struct {
	limits Limits
	// packed is the size of the archive, 0 if unknown.
	packed int64
	count  int
	files  int64 // entries that are no folders
	bytes  int64
	// seen maps a name to whether it is a folder. If it is nil, names may occur
	// twice; the consumer of the entries checks for that.
	seen map[string]bool
}

// clean cleans the name of an entry and checks it.
func (e *Entry) clean() error {
	if e.Folder {
		e.Name = strings.TrimRight(e.Name, "/")
	}
	e.Name = strings.TrimPrefix(e.Name, "./")
	if e.Folder && (e.Name == "" || e.Name == ".") {
		e.Name = "."
		return nil
	}
	return CheckName(e.Name)
}

// admit checks an entry and cleans its name.
func (g *guard) admit(e *Entry) error {
	if g.count++; g.count > g.limits.Entries {
		return fmt.Errorf("%w: %q is beyond the limit of %d entries", ErrUnsafe, e.Name, g.limits.Entries)
	}
	if !e.Folder {
		g.files++
	}
	if err := e.clean(); err != nil || e.Name == "." {
		return err
	}
	if err := g.claim(e); err != nil {
		return err
	}
	return g.grow(e)
}

// claim makes sure that a name is used only once, as a file or as a folder.
func (g *guard) claim(e *Entry) error {
	if g.seen == nil {
		return nil
	}
	if folder, ok := g.seen[e.Name]; ok && !(folder && e.Folder) {
		return fmt.Errorf("%w: name %q occurs twice", ErrUnsafe, e.Name)
	}
	g.seen[e.Name] = e.Folder
	for dir := path.Dir(e.Name); dir != "."; dir = path.Dir(dir) {
		folder, ok := g.seen[dir]
		if ok && !folder {
			return fmt.Errorf("%w: %q is both a file and a folder", ErrUnsafe, dir)
		}
		if ok {
			break
		}
		g.seen[dir] = true
	}
	return nil
}

// grow counts the bytes of an entry.
func (g *guard) grow(e *Entry) error {
	if e.Size <= 0 {
		return nil
	}
	if g.bytes > g.limits.Bytes-e.Size {
		return fmt.Errorf("%w: %q exceeds the limit of %d unpacked bytes", ErrUnsafe, e.Name, g.limits.Bytes)
	}
	g.bytes += e.Size
	if g.limits.Ratio > 0 && g.packed > 0 && g.bytes > ratioFree && g.bytes/g.packed >= g.limits.Ratio {
		return fmt.Errorf("%w: at %q, more than %d bytes are unpacked from %d, as in a zip bomb", ErrUnsafe, e.Name, g.bytes, g.packed)
	}
	return nil
}

// CheckName rejects a name that is not a plain relative path; see the package
// documentation.
func CheckName(name string) error {
	bad := func(why string) error { return fmt.Errorf("%w: name %q %s", ErrUnsafe, name, why) }
	switch {
	case name == "":
		return bad("is empty")
	case len(name) > 4096:
		return fmt.Errorf("%w: a name of %d bytes is too long", ErrUnsafe, len(name))
	case !utf8.ValidString(name):
		return bad("is not UTF-8")
	case name[0] == '/':
		return bad("is absolute")
	case len(name) > 1 && name[1] == ':':
		return bad("has a drive letter")
	case strings.ContainsRune(name, '\\'):
		return bad("holds a backslash")
	}
	for _, c := range name {
		if c < 0x20 || c == 0x7f {
			return bad("contains a control character")
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return bad("leads out of its folder")
		case part == "" || part == ".":
			return bad("has an empty part")
		case len(part) > 255:
			return bad("has a part longer than 255 bytes")
		}
	}
	return nil
}

// Unpack writes an archive's entries below a folder, which must exist. A file
// that already exists is an error; nothing is replaced.
func Unpack(ctx context.Context, src Source, format Format, limits Limits, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("unpack archive: %w", err)
	}
	defer root.Close()
	return Walk(ctx, src, format, limits, func(e Entry, r io.Reader) error {
		name := filepath.FromSlash(e.Name)
		if e.Folder {
			return root.MkdirAll(name, 0o755)
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if e.Executable {
			mode = 0o755
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	})
}

// FirstCSV passes the first CSV file of the archive at a path, whose suffix
// gives the format, and reports whether there is one.
func FirstCSV(ctx context.Context, file string, use func(name string, r io.Reader) error) (found bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	err = Walk(ctx, Source{f, info.Size()}, FormatOf(file), DefaultLimits(), func(e Entry, r io.Reader) error {
		if found || e.Folder || !strings.EqualFold(filepath.Ext(e.Name), ".csv") {
			return nil
		}
		found = true
		return use(e.Name, r)
	})
	return found, err
}
