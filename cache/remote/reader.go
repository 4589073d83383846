package remote

import (
	"context"
	"errors"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
)

// Reader is a Tier for commands that only read results. What the local cache
// does not have is looked up in the remote and fetched when it is read. Nothing
// is stored in the remote.
type Reader struct{ *Tier }

var (
	_ cache.Store  = Reader{}
	_ cache.Index  = Reader{}
	_ cache.Placer = Reader{}
)

// NewReader is New for a Reader.
func NewReader(local *disk.Cache, loc Location, opts Options) Reader {
	loc.ReadOnly = true
	return Reader{New(local, loc, opts)}
}

// Lookup implements cache.Index. It asks the remote for records that are not in
// the local cache.
func (r Reader) Lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	rec, err := r.Tier.Lookup(ctx, id)
	if !errors.Is(err, cache.ErrNotFound) {
		return rec, err
	}
	if found := r.Find(ctx, []digest.ActionID{id}); found[0] != nil {
		return found[0], nil
	}
	return nil, err
}
