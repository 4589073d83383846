package cache

import (
	"context"
	"fmt"
)

// Sharer is a Store that keeps read-only folders with the content of trees, which
// any number of readers use at the same time without copying. The readers may be
// the same user as the store and not to be trusted: a folder shares no file with
// the store (at most blocks, by copy-on-write), and is checked before it is given
// out.
type Sharer interface {
	// Share returns a folder with the content of a tree, made when there is none
	// yet; others who want it wait meanwhile. Progress, when set, is told the
	// files and bytes that were copied so far. An error wraps ErrQuota when the
	// quota has no space for the copy, and errors.ErrUnsupported when the cache
	// cannot share: then a reader makes a copy of its own.
	Share(ctx context.Context, ref Ref, progress func(files, bytes int64)) (Shared, error)
	// ShareCost returns the files that Share would write now, and the bytes that
	// they would add to the disk; 0 when the folder is there.
	ShareCost(ref Ref) (files, bytes int64)
}

// Shared is a folder that a Sharer gave out. It is kept from being removed until
// Close, or the end of the process.
type Shared interface {
	// Dir is the folder: files have mode 0444 or 0555 and folders 0555.
	Dir() string
	// Copied is what was copied in order to make it, 0 when it was there.
	Copied() (files, bytes int64)
	// Check compares the folder with what it was when it was made. When anything
	// in it was changed the error is a *ChangedError, and nobody gets it from
	// Share any more.
	Check(ctx context.Context) error
	Close() error
}

// ChangedError says that a shared folder is not what it was.
type ChangedError struct {
	// Shared says that others had the folder at the same time, so that nobody can
	// tell who changed it; from then on nobody shares a folder of this tree.
	Shared bool
	// What is the first difference in content, "" when there is none: something
	// was touched and is as it was, such as a file that got another link. It is
	// not looked for when the folder was shared.
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
