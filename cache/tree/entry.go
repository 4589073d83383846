package tree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

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
