package cache

import (
	"context"
	"fmt"
	"io"
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
