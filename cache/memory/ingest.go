package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Ingest implements cache.Store.
func (c *Cache) Ingest(ctx context.Context, key string) (cache.Ingest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in := &ingest{c: c, key: key, charge: charge{account: cache.Account(ctx)}}
	if key == "" {
		return in, nil
	}
	release, err := acquire(ctx, &c.mu, c.busy, key)
	if err != nil {
		return nil, fmt.Errorf("ingest object: %w", err)
	}
	in.release = release
	c.mu.RLock()
	defer c.mu.RUnlock()
	in.data = slices.Clone(c.partial[key])
	in.charge.bytes = int64(len(in.data)) // counted since it was written
	return in, nil
}

type ingest struct {
	c       *Cache
	key     string
	data    []byte
	release func()
	closed  bool
	charge  charge
}

var errClosed = errors.New("ingest is closed")

// Write implements io.Writer.
func (in *ingest) Write(p []byte) (int, error) {
	if in.closed {
		return 0, errClosed
	}
	if err := in.c.space.take(&in.charge, int64(len(p))); err != nil {
		return 0, fmt.Errorf("ingest object: %w", err)
	}
	in.data = append(in.data, p...)
	return len(p), nil
}

// Offset implements cache.Ingest.
func (in *ingest) Offset() int64 { return int64(len(in.data)) }

// ReadAt implements io.ReaderAt.
func (in *ingest) ReadAt(p []byte, off int64) (int, error) {
	if in.closed {
		return 0, errClosed
	}
	return bytes.NewReader(in.data).ReadAt(p, off)
}

// Reset implements cache.Ingest.
func (in *ingest) Reset() error {
	if in.closed {
		return errClosed
	}
	in.data = nil
	in.c.space.giveBack(&in.charge, in.charge.bytes)
	return nil
}

// Commit implements cache.Ingest.
func (in *ingest) Commit(ctx context.Context, want cache.Ref) (cache.Ref, error) {
	if in.closed {
		return cache.Ref{}, errClosed
	}
	if err := ctx.Err(); err != nil {
		return cache.Ref{}, err
	}
	ref := cache.Ref{Kind: cache.Blob, ID: digest.Of(in.data), Size: int64(len(in.data))}
	if (!want.ID.IsZero() && want.ID != ref.ID) || (want.Size != 0 && want.Size != ref.Size) {
		return cache.Ref{}, fmt.Errorf("ingest object: %w: it is %s of %d bytes, not %s of %d",
			cache.ErrCorrupt, ref.ID, ref.Size, want.ID, want.Size)
	}
	in.c.mu.Lock()
	if _, ok := in.c.objects[ref.ID]; !ok {
		in.charge = charge{} // it is the object's now
	}
	in.c.objects[ref.ID] = in.data
	in.c.mu.Unlock()
	in.data = nil
	return ref, in.Close()
}

// Close implements cache.Ingest.
func (in *ingest) Close() error {
	if in.closed {
		return nil
	}
	in.closed = true
	if in.key == "" || len(in.data) == 0 {
		in.c.space.giveBack(&in.charge, in.charge.bytes)
	}
	if in.key == "" {
		return nil
	}
	in.c.mu.Lock()
	if len(in.data) == 0 {
		delete(in.c.partial, in.key)
	} else {
		in.c.partial[in.key] = in.data
	}
	in.c.mu.Unlock()
	in.release()
	return nil
}
