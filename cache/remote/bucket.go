package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"gocloud.dev/blob"

	"github.com/mleflow/mleflow/cache"
)

// bucket is a connection that tries again what may pass by itself.
type bucket struct {
	loc      Location
	patience patience
	breaker  breaker
	stats    *counters

	mu   sync.Mutex
	conn *blob.Bucket
	// formatSeen says that the format object was read or written.
	formatSeen, formatWritten bool
	// unconditional is set once the store turned out not to know conditional
	// writes.
	unconditional atomic.Bool
}

// connect opens the connection when it is first needed.
func (b *bucket) connect(ctx context.Context) (*blob.Bucket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil {
		return b.conn, nil
	}
	// Some drivers keep the context to renew what their credentials give.
	conn, err := b.loc.open(context.WithoutCancel(ctx))
	if err != nil {
		return nil, localError{fmt.Errorf("%w: %w", ErrCredentials, maskedError{mask(err.Error())})}
	}
	b.conn = conn
	return conn, nil
}

// do makes an operation, as often as it takes. op must be able to start over.
func (b *bucket) do(ctx context.Context, verb, key string, writing bool, op func(context.Context, *blob.Bucket, *watchdog) error) error {
	if err := b.breaker.open(writing); err != nil {
		return err
	}
	var err error
	var suspected bool
	for n := 0; ; n++ {
		var how outcome
		if how, err = b.attempt(ctx, op); err == nil {
			b.breaker.note(b.patience, nil, writing)
			return nil
		}
		if how == final || how == suspect && suspected {
			break
		}
		suspected = suspected || how == suspect
		b.stats.retries.Add(1)
		if n+1 == b.patience.attempts {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
			break
		}
		if !sleep(ctx, b.patience.wait(n)) {
			err = context.Cause(ctx)
			break
		}
	}
	if ctx.Err() == nil {
		b.breaker.note(b.patience, err, writing)
	}
	return fmt.Errorf("%s %s/%s: %w", verb, b.loc, key, err)
}

func (b *bucket) attempt(ctx context.Context, op func(context.Context, *blob.Bucket, *watchdog) error) (outcome, error) {
	limited, dog := watch(ctx, b.patience.stall)
	defer dog.end()
	conn, err := b.connect(limited)
	if err == nil {
		b.stats.requests.Add(1)
		err = op(limited, conn, dog)
	}
	if err == nil {
		return final, nil
	}
	if ctx.Err() == nil && limited.Err() != nil {
		return again, maskedError{context.Cause(limited).Error()}
	}
	return classify(ctx, err)
}

// size returns the size of an object, or cache.ErrNotFound.
func (b *bucket) size(ctx context.Context, key string) (size int64, err error) {
	err = b.do(ctx, "find", key, false, func(ctx context.Context, conn *blob.Bucket, _ *watchdog) error {
		a, err := conn.Attributes(ctx, key)
		if err == nil {
			size = a.Size
		}
		return err
	})
	return size, err
}

// get reads a small object. parse sees all of it; when it finds it wrong the
// object is read once more.
func (b *bucket) get(ctx context.Context, key string, limit int64, parse func([]byte) error) error {
	return b.read(ctx, key, 0, func(r io.Reader, size int64) error {
		if size > limit {
			return fmt.Errorf("%w: it has %d bytes", cache.ErrCorrupt, size)
		}
		data, err := io.ReadAll(io.LimitReader(r, limit+1))
		if err != nil {
			return err
		}
		if int64(len(data)) != size {
			return io.ErrUnexpectedEOF
		}
		return parse(data)
	})
}

// read gives use the bytes of an object from an offset on, and the size of the
// whole. When use fails it is called again, with bytes from the same offset.
func (b *bucket) read(ctx context.Context, key string, offset int64, use func(r io.Reader, size int64) error) error {
	return b.readRange(ctx, key, func() (int64, int64) { return offset, -1 }, use)
}

// readRange is read with a range that is asked for before every attempt; a
// negative length is up to the end.
func (b *bucket) readRange(ctx context.Context, key string, part func() (offset, length int64), use func(r io.Reader, size int64) error) error {
	return b.do(ctx, "read", key, false, func(ctx context.Context, conn *blob.Bucket, dog *watchdog) error {
		offset, length := part()
		r, err := conn.NewRangeReader(ctx, key, offset, length, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		return use(&heardReader{r, dog, &b.stats.bytesIn}, r.Size())
	})
}

// heardReader tells a watchdog of every byte, and counts them.
type heardReader struct {
	r   io.Reader
	dog *watchdog
	n   *atomic.Int64
}

func (h *heardReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if n > 0 {
		h.dog.heard()
		h.n.Add(int64(n))
	}
	return n, err
}

// partBytes is the least size of a part of a large upload, and maxParts how
// many a store takes.
const (
	partBytes = 8 << 20
	maxParts  = 9000
)

// put writes an object of a known size, which fill gives. Unless it replaces,
// an object of the name that is there already is left alone: errExists.
func (b *bucket) put(ctx context.Context, key string, size int64, replace bool, fill func(context.Context, io.Writer) error) error {
	tried := false
	return b.do(ctx, "write", key, true, func(ctx context.Context, conn *blob.Bucket, dog *watchdog) error {
		// A server may refuse a conditional write before it has read all of it
		// and hang up, which looks here as if the connection were lost.
		if tried && !replace {
			if there, err := conn.Exists(ctx, key); there || err != nil {
				return cmp.Or(err, errExists)
			}
		}
		tried = true
		return b.write(ctx, conn, dog, key, size, replace, fill)
	})
}

func (b *bucket) write(ctx context.Context, conn *blob.Bucket, dog *watchdog, key string, size int64, replace bool, fill func(context.Context, io.Writer) error) error {
	// Cancelling the context of a writer before Close is how a write is undone.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := conn.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "application/octet-stream", DisableContentTypeDetection: true,
		BufferSize: int(max(partBytes, size/maxParts+1)), MaxConcurrency: 2,
		IfNotExist: !replace && !b.unconditional.Load(),
	})
	if err != nil {
		return err
	}
	out := &heardWriter{w, dog, 0}
	if err := fill(ctx, out); err != nil {
		cancel()
		return errors.Join(err, ignore(w.Close()))
	}
	if out.n != size {
		cancel()
		_ = w.Close()
		return localError{fmt.Errorf("%w: it has %d bytes, not %d", cache.ErrCorrupt, out.n, size)}
	}
	if err := w.Close(); err != nil {
		if notImplemented(err) && !b.unconditional.Swap(true) {
			return errors.New("conditional writes are not known here") // tried again without
		}
		return err
	}
	b.stats.bytesOut.Add(size)
	return nil
}

// ignore drops the error that undoing a write always gives.
func ignore(error) error { return nil }

// heardWriter tells a watchdog of every byte.
type heardWriter struct {
	w   io.Writer
	dog *watchdog
	n   int64
}

func (h *heardWriter) Write(p []byte) (int, error) {
	n, err := h.w.Write(p)
	h.n += int64(n)
	h.dog.heard()
	return n, err
}

// remove deletes an object; one that is gone is fine.
func (b *bucket) remove(ctx context.Context, key string) error {
	err := b.do(ctx, "delete", key, true, func(ctx context.Context, conn *blob.Bucket, _ *watchdog) error {
		return conn.Delete(ctx, key)
	})
	if errors.Is(err, cache.ErrNotFound) {
		return nil
	}
	return err
}

// list calls fn with every key that starts with prefix.
func (b *bucket) list(ctx context.Context, prefix string, fn func(key string)) error {
	token := blob.FirstPageToken
	for token != nil {
		var page []*blob.ListObject
		var next []byte
		err := b.do(ctx, "list", prefix, false, func(ctx context.Context, conn *blob.Bucket, _ *watchdog) (err error) {
			page, next, err = conn.ListPage(ctx, token, 1000, &blob.ListOptions{Prefix: prefix})
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range page {
			fn(o.Key)
		}
		token = next
		if len(next) == 0 {
			token = nil
		}
	}
	return nil
}

// checkFormat makes sure that the bucket holds a remote cache of this version,
// or nothing yet. With write it notes the version in an empty one.
func (b *bucket) checkFormat(ctx context.Context, write bool) error {
	b.mu.Lock()
	done := b.formatWritten || b.formatSeen && !write
	b.mu.Unlock()
	if done {
		return nil
	}
	err := b.get(ctx, formatKey, 1<<10, func(data []byte) error {
		if string(data) != formatText {
			return localError{fmt.Errorf("%w: %q", ErrFormat, data)}
		}
		return nil
	})
	if errors.Is(err, cache.ErrNotFound) {
		if !write {
			err = nil
			done = true
		} else if err = b.put(ctx, formatKey, int64(len(formatText)), false, fillBytes([]byte(formatText))); errors.Is(err, errExists) {
			return b.checkFormat(ctx, write) // another writer was first
		}
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.formatSeen, b.formatWritten = true, b.formatWritten || !done
	return nil
}

// fillBytes writes data.
func fillBytes(data []byte) func(context.Context, io.Writer) error {
	return func(_ context.Context, w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func (b *bucket) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn == nil {
		return nil
	}
	err := b.conn.Close()
	b.conn = nil
	return err
}
