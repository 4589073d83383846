package cache

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/mleflow/mleflow/cache/digest"
)

// Plain adds the methods of Files to a store that can only read and ingest,
// such as a bundle. Everything is copied.
type Plain struct{ Store }

var _ Files = Plain{}

// Place implements Placer. It reads the blob into a new file, and verifies it
// on the way.
func (p Plain) Place(ctx context.Context, ref Ref, path string, how Placement) (Placed, error) {
	r, err := p.Open(ctx, ref.ID)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	if _, err := Copy(ctx, f, r); err != nil {
		return 0, errors.Join(fmt.Errorf("copy %s: %w", ref.ID.Short(), err), f.Close())
	}
	if err := f.Chmod(how.FileMode()); err != nil {
		return 0, errors.Join(err, f.Close())
	}
	return Copied, f.Close()
}

// OpenAt implements RandomStore. It reads the blob into an ingest, verifies it
// on the way, and drops it when the reader is closed.
func (p Plain) OpenAt(ctx context.Context, id digest.ContentID) (RandomReader, error) {
	r, err := p.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	in, err := p.Ingest(ctx, "")
	if err != nil {
		return nil, err
	}
	if _, err := Copy(ctx, in, r); err != nil {
		return nil, errors.Join(fmt.Errorf("copy %s: %w", id.Short(), err), in.Close())
	}
	return ingested{in}, nil
}

// ingested reads an ingest that is complete.
type ingested struct{ Ingest }

// Size implements RandomReader.
func (r ingested) Size() int64 { return r.Offset() }
