package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/mleflow/mleflow/cache/digest"
)

// Files is a Store that can place content as files and read it at any offset.
// Plain adapts a Store that can do neither.
type Files interface {
	Store
	Placer
	RandomStore
}

// Building is a Store in which trees are built. It lends a folder for entries
// that do not fit in memory.
type Building interface {
	Store
	Workspace
}

// Cache is the whole interface that the engine and the steps use. An
// implementation that cannot do something returns an error or falls back to the
// plain way, so callers never test for abilities.
type Cache interface {
	Files
	Index
	Lister
	Locker
	Workspace
	Reserver
	Keeper
	Sharer
	LinkKeeper
	Relay
	Drafter
}

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

// Lister lists the records of an Index. Each calls fn with every record, oldest first,
// until it returns an error. The content of a record may be missing.
type Lister interface {
	Each(ctx context.Context, fn func(*Record) error) error
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

// Drafter is a Store from which content that was superseded can be removed before the
// next collection.
type Drafter interface {
	// Prune removes the drafts of the context's owner that no record and no pin leads
	// to, and that keep does not contain, and returns them. A draft is an object that was stored first with a context of
	// WithDrafts, and that nobody else has stored or looked for since. An error
	// means that something may be left, which a collection removes.
	Prune(ctx context.Context, keep ...Ref) (gone map[digest.ContentID]bool, err error)
}

type draftsKey struct{}

// WithDrafts returns a context with which an owner stores drafts. Owners are compared
// by identity.
func WithDrafts(ctx context.Context, owner any) context.Context {
	return context.WithValue(ctx, draftsKey{}, owner)
}

// DraftsOf returns the owner of the drafts that are stored with a context, or nil.
func DraftsOf(ctx context.Context) any { return ctx.Value(draftsKey{}) }

// Relay hands records over between machines that share a remote cache and replace each
// other's records. Without a remote cache, it knows only this machine's.
type Relay interface {
	// Latest is like Lookup, but also asks the remote cache, and returns the record that
	// replaced the most others (Tries.Count). Its content can be opened.
	Latest(ctx context.Context, id digest.ActionID) (*Record, error)
	// Finish waits until everything that was recorded is in the remote cache, or ctx
	// ends. It returns the number of records that are not.
	Finish(ctx context.Context) (left int)
	// Sync returns when everything that was put and recorded is on this machine's disk,
	// where it survives a power failure, or ctx ends.
	Sync(ctx context.Context) error
}

var (
	// ErrSpace means that the file system of the cache has too little space, even after
	// everything that may be evicted was evicted.
	ErrSpace = errors.New("not enough disk space for the cache")
	// ErrReserved accompanies ErrQuota or ErrSpace if the space would suffice
	// without the reservations of running work. The caller may try again when that
	// work has ended.
	ErrReserved = errors.New("reserved by running work")
)

// Reserver is a Store that reserves space before work begins, so that work
// which fits when it starts also fits when it ends.
type Reserver interface {
	// Reserve reserves bytes of the quota and of the file system, and evicts records if
	// it has to. An error wraps ErrQuota if the quota cannot hold the bytes, and
	// ErrSpace if the disk cannot; then nothing is evicted.
	//
	// Ingests of the process draw on its reservations before they take more space. An
	// ingest that is dropped returns the bytes that it drew. With a context made by
	// WithAccount, and those derived from it, only ingests of the same account draw on
	// the reservation. Without accounts, all work of the process shares its
	// reservations: as long as each piece of work stays within its reservation, none
	// runs out, but bytes that one of several leaves when it ends are returned only
	// later.
	//
	// Release returns the rest of the reservation; further calls do nothing. A
	// reservation ends with its process.
	Reserve(ctx context.Context, bytes int64) (release func(), err error)
}

// Keeper provides work folders that may outlive their process, on the same file
// system as the store.
type Keeper interface {
	// Keep returns the folder of a key, and creates it, empty, if it does not
	// exist. One process at a time holds it: Keep waits until no other does, or
	// ctx ends. Release with keep leaves the folder for the next Keep of the key;
	// without keep, it removes the folder. A second call does nothing. The folder
	// of a process that dies is kept. No clean-up ever removes it.
	Keep(ctx context.Context, key string) (dir string, release func(keep bool) error, err error)
	// Kept returns all kept folders, sorted by key.
	Kept(ctx context.Context) ([]Kept, error)
}

// Kept is a work folder of a Keeper.
type Kept struct {
	Key string `json:"key"`
	Dir string `json:"dir"`
	// Held says that a live process holds the folder.
	Held bool `json:"held"`
}

type accountKey struct{}

// WithAccount returns a context for one piece of work. What is reserved with it
// can only be drawn on by what is ingested with it, or without any account.
func WithAccount(ctx context.Context) context.Context {
	return context.WithValue(ctx, accountKey{}, new(byte))
}

// Account returns the account of a context, or nil.
func Account(ctx context.Context) any { return ctx.Value(accountKey{}) }

// Sharer is a Store that keeps read-only folders with the content of trees,
// which any number of readers use at the same time without copying. The readers
// may be untrusted and run as the same user as the store. So a folder shares no
// file with the store (at most blocks, by copy-on-write), and is checked before
// it is given out.
type Sharer interface {
	// Share returns a folder with the content of a tree, and creates it if there
	// is none; others who want the same tree wait meanwhile. Progress, if set, is
	// called with the files and bytes copied so far. An error wraps ErrQuota if
	// the quota has no space for the copy, and errors.ErrUnsupported if the cache
	// cannot share: then the reader makes its own copy.
	Share(ctx context.Context, ref Ref, progress func(files, bytes int64)) (Shared, error)
	// ShareCost returns the files that Share would write now, and the bytes that
	// they would add to the disk; 0 if the folder exists.
	ShareCost(ref Ref) (files, bytes int64)
}

// LinkKeeper is a Store that keeps folders of hard links to its files from one
// reader for the next. Readers must not be able to write to them: they see the
// folder through a read-only mount. A folder has one user at a time: it belongs
// to whoever has moved it, and there is nothing to lock.
type LinkKeeper interface {
	// TakeLinks moves a folder that KeepLinks kept of the tree to dst, which must
	// not exist, and checks that it is what tree.Materialise would make. If there is
	// none, taken is false: then the reader makes its own and, if every file became a
	// link, calls made with its subfolders before anybody else sees it. That spares
	// the next reader the check.
	TakeLinks(ctx context.Context, ref Ref, dst string) (taken bool, made func(folders []string), err error)
	// KeepLinks takes a folder in which tree.Materialise linked every file of the
	// tree, or which TakeLinks gave out, and which nobody reads any more. It may
	// leave the folder where it is, for the caller to remove.
	KeepLinks(ref Ref, dir string) error
}

// Shared is a folder that a Sharer gave out. It is not removed before Close, or
// the end of the process.
type Shared interface {
	// Dir is the folder: files have mode 0444 or 0555 and folders 0555.
	Dir() string
	// Copied is what was copied to create it, 0 if it existed.
	Copied() (files, bytes int64)
	// Alone reports whether no other had the folder while this one had it.
	Alone() bool
	// Check compares the folder with its original state. If anything in it was
	// changed, the error is a *ChangedError, and Share does not give it out again.
	Check(ctx context.Context) error
	Close() error
}

// ChangedError says that a shared folder was changed.
type ChangedError struct {
	// Shared says that others had the folder at the same time, so that nobody can
	// know who changed it. From then on, folders of this tree are not shared.
	Shared bool
	// What is the first difference in content. It is "" if the content is
	// unchanged, as when a file only got another link, and if the folder was
	// shared, when content is not compared.
	What string
}

func (e *ChangedError) Error() string {
	switch {
	case e.Shared:
		return "the shared folder was changed while several used it"
	case e.What == "":
		return "the shared folder was touched"
	}
	return fmt.Sprintf("the shared folder was changed: %s", e.What)
}
