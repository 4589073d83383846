package tree

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// header starts every encoding and carries its version.
const header = "mleflow tree 1\n"

// IsEncoding reports whether a file starts like the encoding of a tree. Such a file has
// the digest of the tree.
func IsEncoding(r io.Reader) (bool, error) {
	head := make([]byte, len(header))
	n, err := io.ReadFull(r, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return string(head[:n]) == header, err
}

// Encode returns the canonical encoding of a directory and its reference. It
// sorts entries in place; two with the same name are an error.
func Encode(entries []Entry) ([]byte, cache.Ref, error) {
	sortEntries(entries)
	buf := bytes.NewBuffer(make([]byte, 0, len(header)+len(entries)*112))
	enc := NewEncoder(buf)
	if err := lists.Each(entries, enc.Write); err != nil {
		return nil, cache.Ref{}, err
	}
	ref, err := enc.Finish()
	return buf.Bytes(), ref, err
}

func sortEntries(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
}

// appendEntry appends the line of e, which must be valid.
func appendEntry(buf []byte, e Entry) []byte {
	buf = append(buf, byte(e.Type), ' ')
	buf = strconv.AppendInt(buf, e.Size, 10)
	if e.IsDir() {
		buf = append(buf, ' ')
		buf = strconv.AppendInt(buf, e.Files, 10)
	}
	buf = append(buf, ' ')
	buf = hex.AppendEncode(buf, e.ID[:])
	buf = append(buf, ' ')
	buf = appendName(buf, e.Name)
	return append(buf, '\n')
}

func appendName(buf []byte, name string) []byte {
	if !strings.ContainsAny(name, "\\\n") {
		return append(buf, name...)
	}
	for i := range len(name) {
		switch c := name[i]; c {
		case '\\':
			buf = append(buf, `\\`...)
		case '\n':
			buf = append(buf, `\n`...)
		default:
			buf = append(buf, c)
		}
	}
	return buf
}

// Encoder writes the encoding of a directory entry by entry, in bounded
// memory.
type Encoder struct {
	w     io.Writer
	hash  *digest.Writer
	buf   []byte
	last  string
	n     int64
	total total
}

// NewEncoder returns an Encoder that writes to w.
func NewEncoder(w io.Writer) *Encoder {
	return &Encoder{w: w, hash: digest.NewWriter(), buf: []byte(header)}
}

// Write adds the next entry; names must come in strictly ascending order.
func (e *Encoder) Write(entry Entry) error {
	if err := entry.check(); err != nil {
		return err
	}
	if e.n > 0 && entry.Name <= e.last {
		return fmt.Errorf("entry %q: %w: not after %q", entry.Name, ErrInvalid, e.last)
	}
	if !e.total.add(entry) {
		return fmt.Errorf("entry %q: %w: the total size overflows", entry.Name, ErrInvalid)
	}
	e.last = entry.Name
	e.n++
	e.buf = appendEntry(e.buf, entry)
	if len(e.buf) < 32<<10 {
		return nil
	}
	return e.flush()
}

// Finish writes the rest and returns the directory's reference.
func (e *Encoder) Finish() (cache.Ref, error) {
	if err := e.flush(); err != nil {
		return cache.Ref{}, err
	}
	return cache.Ref{Kind: cache.Tree, ID: e.hash.ID(), Size: e.total.size, Files: e.total.files}, nil
}

func (e *Encoder) flush() error {
	_, _ = e.hash.Write(e.buf)
	_, err := e.w.Write(e.buf)
	e.buf = e.buf[:0]
	if err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	return nil
}

// ErrInvalid means that bytes are not the canonical encoding of a tree, or that a
// name cannot be part of a tree.
var ErrInvalid = errors.New("invalid tree")

// maxName is the longest name in bytes: the limit of the usual file systems.
const maxName = 255

// Type is the type of a directory entry.
type Type byte

// The types of entries; the byte is the one in the encoding.
const (
	File       Type = 'f'
	Executable Type = 'x'
	Directory  Type = 'd'
)

// Entry is one line of a directory.
type Entry struct {
	Name string
	// ID is the content of a file, or the encoding of a subdirectory.
	ID digest.ContentID
	// Size is the length of a file, or the sum of the files below a
	// subdirectory.
	Size int64
	// Files is the number of files below a subdirectory; 0 for a file.
	Files int64
	Type  Type
}

// IsDir reports whether e is a subdirectory.
func (e Entry) IsDir() bool { return e.Type == Directory }

// Ref returns the object that e names.
func (e Entry) Ref() cache.Ref {
	if e.IsDir() {
		return cache.Ref{Kind: cache.Tree, ID: e.ID, Size: e.Size, Files: e.Files}
	}
	return cache.Ref{Kind: cache.Blob, ID: e.ID, Size: e.Size}
}

// NewEntry returns the entry called name for an object. The executable bit
// only matters for a blob.
func NewEntry(name string, ref cache.Ref, executable bool) Entry {
	e := Entry{Name: name, ID: ref.ID, Size: ref.Size, Files: ref.Files, Type: File}
	switch {
	case ref.Kind == cache.Tree:
		e.Type = Directory
	case executable:
		e.Type = Executable
	}
	return e
}

// CheckName returns an error that wraps ErrInvalid unless name is one safe
// path element.
func CheckName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("name %q: %w: not a file name", name, ErrInvalid)
	case len(name) > maxName:
		return fmt.Errorf("name %q: %w: longer than %d bytes", name[:32]+"…", ErrInvalid, maxName)
	case strings.IndexByte(name, '/') >= 0 || strings.IndexByte(name, 0) >= 0:
		return fmt.Errorf("name %q: %w: contains a slash or a zero byte", name, ErrInvalid)
	}
	return nil
}

// check returns an error unless e can be encoded.
func (e Entry) check() error {
	if err := CheckName(e.Name); err != nil {
		return err
	}
	switch {
	case e.Type != File && e.Type != Executable && e.Type != Directory:
		return fmt.Errorf("entry %q: %w: unknown type %q", e.Name, ErrInvalid, byte(e.Type))
	case e.ID.IsZero():
		return fmt.Errorf("entry %q: %w: no digest", e.Name, ErrInvalid)
	case e.Size < 0 || e.Files < 0 || (e.Files != 0 && !e.IsDir()):
		return fmt.Errorf("entry %q: %w: impossible size or file count", e.Name, ErrInvalid)
	}
	return nil
}

// total adds up a directory's entries.
type total struct{ size, files int64 }

// add counts e and reports whether the sums still fit.
func (t *total) add(e Entry) bool {
	n := e.Files
	if !e.IsDir() {
		n = 1
	}
	t.size += e.Size
	t.files += n
	return t.size >= e.Size && t.files >= n
}
