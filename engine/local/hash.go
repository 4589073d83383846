package local

import (
	"context"
	"errors"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// hashOnly is a store that keeps nothing: it tells what content would be
// called.
type hashOnly struct{}

func (hashOnly) Open(context.Context, digest.ContentID) (io.ReadCloser, error) {
	return nil, cache.ErrNotFound
}

func (hashOnly) Has(context.Context, digest.ContentID) (int64, error) { return 0, cache.ErrNotFound }

func (hashOnly) Ingest(context.Context, string) (cache.Ingest, error) {
	return &hashed{digest.NewWriter()}, nil
}

// hashed is content that is hashed and dropped.
type hashed struct{ *digest.Writer }

func (h *hashed) Offset() int64 { return h.Size() }
func (h *hashed) Close() error  { return nil }

func (h *hashed) Reset() error {
	h.Writer = digest.NewWriter()
	return nil
}

func (h *hashed) ReadAt([]byte, int64) (int, error) {
	return 0, errors.New("content that is only hashed cannot be read")
}

func (h *hashed) Commit(_ context.Context, want cache.Ref) (cache.Ref, error) {
	ref := cache.Ref{Kind: cache.Blob, ID: h.ID(), Size: h.Size()}
	if !want.IsZero() && want.ID != ref.ID {
		return cache.Ref{}, cache.ErrCorrupt
	}
	return ref, nil
}
