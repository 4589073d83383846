package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// smallBlob is the number of bytes that an ingest keeps in memory before it creates
// a file: a small blob that is already in the store never touches the disk.
const smallBlob = 64 << 10

var smallBuffers = sync.Pool{New: func() any { return new([smallBlob]byte) }}

// ingests writes content.
type ingests struct {
	*folder
	leases  *leases
	quota   *quota
	objects *objects
}

// written is what ingests with and without a key share.
type written struct {
	c    *ingests
	ctx  context.Context // of the Ingest, used to make space while writing
	hash *digest.Writer
	err  error
}

func (w *written) fail(err error) error {
	w.err = fmt.Errorf("ingest object: %w", w.c.explain(err))
	return w.err
}

// ref is the reference of the bytes written, of which the last are not in the hash yet.
func (w *written) ref(ctx context.Context, want cache.Ref, last []byte) (cache.Ref, error) {
	if w.err != nil {
		return cache.Ref{}, w.err
	}
	if err := ctx.Err(); err != nil {
		return cache.Ref{}, err
	}
	_, _ = w.hash.Write(last)
	ref := cache.Ref{Kind: cache.Blob, ID: w.hash.ID(), Size: w.hash.Size()}
	if err := checkWant(ref, want); err != nil {
		return cache.Ref{}, w.fail(err)
	}
	return ref, nil
}

// ingest is a blob being written without a key.
type ingest struct {
	written
	// small holds the bytes until there is a file.
	small *[smallBlob]byte
	n     int
	file  *os.File
	named bool
	// charge is the share of the ingest in the quota.
	charge charge
}

// Ingest implements cache.Store. Two ingests of one key take turns, also across
// processes: the second waits until the first is closed, and continues from
// there.
func (c *ingests) Ingest(ctx context.Context, key string) (cache.Ingest, error) {
	if err := c.writing("ingest object"); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if key != "" {
		return c.openKeyed(ctx, key)
	}
	in := &ingest{written: written{c: c, ctx: ctx, hash: digest.NewWriter()}, small: smallBuffers.Get().(*[smallBlob]byte)}
	in.charge.account = cache.Account(ctx)
	return in, nil
}

var errClosed = errors.New("ingest is closed")

// Write implements io.Writer.
func (in *ingest) Write(p []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	if in.file == nil {
		if in.n+len(p) <= smallBlob {
			copy(in.small[in.n:], p)
			in.n += len(p)
			return len(p), nil
		}
		if err := in.create(tmpName); err != nil {
			return 0, in.fail(err)
		}
		if err := in.append(in.small[:in.n]); err != nil {
			return 0, in.fail(err)
		}
	}
	if err := in.append(p); err != nil {
		return 0, in.fail(err)
	}
	return len(p), nil
}

// create makes the file.
func (in *ingest) create(home string) (err error) {
	in.file, in.named, err = in.c.leases.tempFile(home)
	return err
}

// append writes to the file.
func (in *ingest) append(p []byte) error {
	if err := in.write(p); err != nil {
		return err
	}
	_, _ = in.hash.Write(p)
	return nil
}

// write appends bytes whose digest is already known.
func (in *ingest) write(p []byte) error {
	if err := in.c.quota.take(in.ctx, &in.charge, int64(len(p))); err != nil {
		return err
	}
	_, err := in.c.hooks.write(in.file, p)
	return err
}

// Offset implements cache.Ingest.
func (in *ingest) Offset() int64 {
	if in.file == nil {
		return int64(in.n)
	}
	return in.hash.Size()
}

// ReadAt implements io.ReaderAt.
func (in *ingest) ReadAt(p []byte, off int64) (int, error) {
	if errors.Is(in.err, errClosed) {
		return 0, in.err
	}
	if in.file == nil {
		return bytes.NewReader(in.small[:in.n]).ReadAt(p, off)
	}
	return readWritten(in.file, in.Offset(), p, off)
}

// readWritten reads from the first size bytes of f. Bytes that a failed write left
// after them are ignored.
func readWritten(f *os.File, size int64, p []byte, off int64) (int, error) {
	return io.NewSectionReader(f, 0, size).ReadAt(p, off)
}

// Reset implements cache.Ingest.
func (in *ingest) Reset() error {
	if errors.Is(in.err, errClosed) {
		return in.err
	}
	err := in.dropFile()
	in.err, in.n, in.hash = nil, 0, digest.NewWriter()
	return err
}

func (in *ingest) dropFile() error {
	in.c.quota.giveBack(&in.charge, in.charge.bytes)
	if in.file == nil {
		return nil
	}
	f := in.file
	in.file = nil
	err := f.Close()
	if in.named {
		err = errors.Join(err, ignoreMissing(os.Remove(f.Name()))) // it may have been renamed
	}
	return err
}

// Commit implements cache.Ingest.
func (in *ingest) Commit(ctx context.Context, want cache.Ref) (cache.Ref, error) {
	var small []byte
	if in.file == nil && in.err == nil {
		small = in.small[:in.n]
	}
	ref, err := in.ref(ctx, want, small)
	if err != nil {
		return cache.Ref{}, err
	}
	if err := in.publish(ctx, ref); err != nil {
		return cache.Ref{}, in.fail(err)
	}
	return ref, in.Close()
}

// checkWant returns cache.ErrCorrupt unless ref matches want.
func checkWant(ref, want cache.Ref) error {
	if !want.ID.IsZero() && want.ID != ref.ID {
		return fmt.Errorf("%w: its digest is %s, not %s", cache.ErrCorrupt, ref.ID, want.ID)
	}
	if want.Size != 0 && want.Size != ref.Size {
		return fmt.Errorf("%w: it has %d bytes, not %d", cache.ErrCorrupt, ref.Size, want.Size)
	}
	return nil
}

func (in *ingest) publish(ctx context.Context, ref cache.Ref) error {
	if in.file == nil {
		present, err := in.c.objects.keepPresent(ctx, ref.ID, ref.Size)
		if present || err != nil {
			return err
		}
		in.ctx = ctx
		if err := in.create(shardName(ref.ID[0])); err != nil {
			return err
		}
		if err := in.write(in.small[:in.n]); err != nil {
			return err
		}
	}
	defer in.c.quota.change()()
	fresh, err := in.c.objects.publishOnce(ctx, in.file, in.named, ref)
	if err == nil && fresh {
		in.c.quota.landed(&in.charge)
		in.c.quota.published(ref.Size)
	}
	return err
}

// publishOnce publishes a complete file unless the object exists already; fresh
// reports whether it was new.
func (c *objects) publishOnce(ctx context.Context, f *os.File, named bool, ref cache.Ref) (fresh bool, err error) {
	drafted := c.drafts.begin(ctx, ref.ID)
	defer func() { drafted(fresh) }()
	for range 3 {
		if fresh, err := c.publish(f, named, ref.ID, false); fresh || err != nil {
			return fresh, err
		}
		present, err := c.keepPresent(ctx, ref.ID, ref.Size)
		if present || err != nil {
			return false, err
		}
	}
	return false, errors.New("the object keeps appearing and disappearing")
}

// Close implements cache.Ingest.
func (in *ingest) Close() error {
	if errors.Is(in.err, errClosed) {
		return nil
	}
	in.err = errClosed
	smallBuffers.Put(in.small)
	in.small = nil
	return in.dropFile()
}
