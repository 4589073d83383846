package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mleflow/mleflow/cache/digest"
)

var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// Copy is io.Copy that stops, with ctx's cause, when ctx does.
func Copy(ctx context.Context, dst io.Writer, src io.Reader) (int64, error) {
	buf := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(buf)
	return io.CopyBuffer(dst, &contextReader{ctx, src}, buf[:])
}

// contextReader stops when its context does.
type contextReader struct {
	ctx context.Context // of one copy
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// Put stores the bytes of r as a blob. A non-zero want must match, as in
// Ingest.Commit. It stops when ctx ends.
func Put(ctx context.Context, s Store, r io.Reader, want Ref) (Ref, error) {
	return PutWritten(ctx, s, want, func(w io.Writer) error { _, err := Copy(ctx, w, r); return err })
}

// PutBytes stores data as a blob.
func PutBytes(ctx context.Context, s Store, data []byte) (Ref, error) {
	return PutWritten(ctx, s, Ref{}, func(w io.Writer) error { _, err := w.Write(data); return err })
}

// PutWritten stores what write writes as a blob. A non-zero want must match.
func PutWritten(ctx context.Context, s Store, want Ref, write func(io.Writer) error) (Ref, error) {
	in, err := s.Ingest(ctx, "")
	if err != nil {
		return Ref{}, err
	}
	defer in.Close()
	if err := write(in); err != nil {
		return Ref{}, fmt.Errorf("store blob: %w", err)
	}
	return in.Commit(ctx, want)
}

// Get reads a whole object into memory. An object of more than limit bytes is an
// error, so that no caller loads a huge object by mistake.
func Get(ctx context.Context, s Store, id digest.ContentID, limit int64) ([]byte, error) {
	size, err := s.Has(ctx, id)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("read object %s: it has %d bytes, more than %d", id.Short(), size, limit)
	}
	r, err := s.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", id.Short(), err)
	}
	return data, nil
}

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
	if _, err = Copy(ctx, f, r); err != nil {
		err = fmt.Errorf("copy %s: %w", ref.ID.Short(), err)
	} else {
		err = f.Chmod(how.FileMode())
	}
	return Copied, errors.Join(err, f.Close())
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
