package cache

import (
	"context"
	"io"
	"io/fs"

	"github.com/mleflow/mleflow/cache/digest"
)

// Placement describes the file that Place makes of a blob.
type Placement struct {
	// Executable asks for a file that may be executed.
	Executable bool
	// Private asks for a file that shares nothing with the store, for untrusted
	// processes. Copy-on-write sharing by the file system is private enough.
	Private bool
	// Writable asks for a file that may be written; it implies Private.
	Writable bool
	// OwnerOnly asks for a file that only its owner can read. A link has the store's mode.
	OwnerOnly bool
	// Copied, if set, is called with the sizes of the pieces of a file that is copied.
	Copied func(bytes int64)
}

// Placed is the way in which a blob got to a path.
type Placed int

// The ways in which a blob gets to a path.
const (
	// Linked is a hard link to the store's own read-only file.
	Linked Placed = iota
	// Cloned is a copy that shares blocks until it is written to (reflink).
	Cloned
	// Copied is a full copy.
	Copied
)

// Placer is a Store that can place a blob at a path more cheaply than by
// reading it. Place picks the cheapest way that Placement allows, and falls
// back to a copy. The path must not exist.
type Placer interface {
	Place(ctx context.Context, ref Ref, path string, p Placement) (Placed, error)
}

// RandomReader reads a blob at any offset.
type RandomReader interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// RandomStore is a Store whose blobs can be read at any offset. Such reads
// are not verified against the digest; the store only checks that the file is
// the one it published.
type RandomStore interface {
	OpenAt(ctx context.Context, id digest.ContentID) (RandomReader, error)
}

// Locker lets only one process at a time run an action. LockAction waits until
// no other process or goroutine holds the action. The caller then looks the
// action up again, since the other one may have finished it. A lock ends with
// its process.
type Locker interface {
	LockAction(ctx context.Context, id digest.ActionID) (unlock func(), err error)
}

// Workspace provides folders for the work of steps, on the same file system as
// the store, so that blobs can be linked into them. The caller removes its
// folder; if the process dies, the next clean-up does.
type Workspace interface {
	TempDir(name string) (dir string, err error)
}

// FileMode returns the permissions of a file placed this way.
func (p Placement) FileMode() fs.FileMode {
	mode := fs.FileMode(0o444)
	if p.Executable {
		mode |= 0o111
	}
	if p.Writable {
		mode |= 0o200
	}
	if p.OwnerOnly {
		mode &^= 0o077
	}
	return mode
}
