package cache

import (
	"context"
	"fmt"
)

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
