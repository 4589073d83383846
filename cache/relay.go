package cache

import (
	"context"

	"github.com/mleflow/mleflow/cache/digest"
)

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
