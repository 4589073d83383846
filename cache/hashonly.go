package cache

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/mleflow/mleflow/cache/digest"
)

// HashOnly is a Store that keeps nothing. It only computes the digests of
// content.
type HashOnly struct{}

var _ Building = HashOnly{}

// Open implements Store; nothing is found.
func (HashOnly) Open(context.Context, digest.ContentID) (io.ReadCloser, error) {
	return nil, ErrNotFound
}

// Has implements Store; nothing is found.
func (HashOnly) Has(context.Context, digest.ContentID) (int64, error) { return 0, ErrNotFound }

// Ingest implements Store.
func (HashOnly) Ingest(context.Context, string) (Ingest, error) {
	return &hashed{digest.NewWriter()}, nil
}

// TempDir implements Workspace, in the system's folder of temporary files.
func (HashOnly) TempDir(name string) (string, error) { return os.MkdirTemp("", name+"-") }

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

func (h *hashed) Commit(_ context.Context, want Ref) (Ref, error) {
	ref := Ref{Kind: Blob, ID: h.ID(), Size: h.Size()}
	if !want.IsZero() && want.ID != ref.ID {
		return Ref{}, ErrCorrupt
	}
	return ref, nil
}
