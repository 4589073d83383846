package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/retry"
)

// bucket is a connection that retries operations that may succeed later.
type bucket struct {
	loc      Location
	patience patience
	breaker  breaker
	stats    *counters
	// sent counts the bytes that were written, including those of failed attempts.
	sent *atomic.Int64

	mu   sync.Mutex
	conn objects
	// formatSeen is true once there was no format object, and formatWritten once one was
	// read or written.
	formatSeen, formatWritten atomic.Bool
	// refusals counts the writes that succeeded only without a condition, since
	// the last one whose condition the store understood.
	refusals atomic.Int32
}

// believed is the number of refusals after which a store is taken not to support
// conditional writes. One refusal suffices if the store says so.
const believed = 3

// conditional reports whether the store is taken to support conditional writes.
func (b *bucket) conditional() bool { return b.refusals.Load() < believed }

// connect opens the connection when it is first needed.
func (b *bucket) connect(ctx context.Context) (objects, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil {
		return b.conn, nil
	}
	conn, err := b.loc.open(ctx)
	if err != nil {
		return nil, localError{fmt.Errorf("%w: %w", errCredentials, masked(err))}
	}
	b.conn = conn
	return conn, nil
}

// do runs an operation until it succeeds or must be given up. op must be able
// to start over.
func (b *bucket) do(ctx context.Context, verb, key string, writing bool, op func(context.Context, objects, *watchdog) error) error {
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
			err = fmt.Errorf("%w: %w", errUnavailable, err)
			break
		}
		if progress.Sleep(ctx, retry.Pause(n+1, b.patience.base, b.patience.most)) != nil {
			err = context.Cause(ctx)
			break
		}
	}
	if ctx.Err() == nil {
		b.breaker.note(b.patience, err, writing)
	}
	return fmt.Errorf("%s %s/%s: %w", verb, b.loc, key, err)
}

func (b *bucket) attempt(ctx context.Context, op func(context.Context, objects, *watchdog) error) (outcome, error) {
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
		return again, errors.New(context.Cause(limited).Error())
	}
	return classify(ctx, err)
}

// size returns the size of an object, or cache.ErrNotFound.
func (b *bucket) size(ctx context.Context, key string) (size int64, err error) {
	err = b.do(ctx, "find", key, false, func(ctx context.Context, conn objects, _ *watchdog) (err error) {
		size, err = conn.stat(ctx, key)
		return err
	})
	return size, err
}

// get reads a small object. If parse finds it wrong, it is read a second time,
// in case it was damaged on its way.
func (b *bucket) get(ctx context.Context, key string, limit int64, parse func([]byte) error) error {
	return b.read(ctx, key, func() (int64, int64) { return 0, -1 }, func(r io.Reader, size int64) error {
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

// read passes use the bytes of a part of an object, and its total size. part is
// called for every attempt; a negative length means to the end. If use fails, it may
// be called again.
func (b *bucket) read(ctx context.Context, key string, part func() (offset, length int64), use func(r io.Reader, size int64) error) error {
	return b.do(ctx, "read", key, false, func(ctx context.Context, conn objects, dog *watchdog) error {
		offset, length := part()
		r, whole, err := conn.open(ctx, key, offset, length)
		if err != nil {
			return err
		}
		defer r.Close()
		return use(&heardReader{r, dog, &b.stats.bytesIn, portionOf(ctx)}, whole)
	})
}

// heardReader reports every read to a watchdog and counts the bytes.
type heardReader struct {
	r   io.Reader
	dog *watchdog
	n   *atomic.Int64
	of  *portion
}

func (h *heardReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if n > 0 {
		h.dog.heard()
		h.n.Add(int64(n))
		h.of.moved(int64(n))
	}
	return n, err
}

// content opens what is to be written. A connection may still read it when it is
// closed.
type content func(context.Context) io.ReadCloser

// put writes an object of a known size. Unless it replaces, an existing object of
// the same name stays and the error is errExists.
func (b *bucket) put(ctx context.Context, key string, size int64, replace bool, open content) error {
	tries := 0
	return b.do(ctx, "write", key, true, func(ctx context.Context, conn objects, dog *watchdog) error {
		write := func(create bool) error {
			body := open(ctx)
			defer body.Close()
			return conn.write(ctx, key, size, create, &heardReader{body, dog, b.sent, portionOf(ctx)})
		}
		// A server may refuse a conditional write and hang up before it has read the
		// whole request. That looks like a lost connection, so the object's presence
		// is checked.
		if tries++; tries > 1 && !replace {
			if err := b.absent(ctx, conn, key); err != nil {
				return err
			}
		}
		create := !replace && b.conditional()
		err := write(create)
		if create && b.refused(ctx, err, tries) {
			if err = b.absent(ctx, conn, key); err == nil {
				err = write(false)
			}
			if err == nil {
				b.refusals.Add(1)
			}
		}
		if err == nil {
			b.stats.bytesOut.Add(size)
		}
		return err
	})
}

// refused reports whether a store may have refused a write for its condition, which
// only a write without it shows. Stores answer an unknown header in many ways. If
// the store reports an internal error, the condition is dropped only after three
// attempts.
func (b *bucket) refused(ctx context.Context, err error, tries int) bool {
	if err == nil {
		b.refusals.Store(0)
		return false
	}
	if _, known := classify(ctx, err); errors.Is(known, errExists) {
		b.refusals.Store(0)
		return false
	}
	if notImplemented(err) {
		b.refusals.Store(believed)
		return true
	}
	return refusesHeader(err) || tries > 2 && failsInside(err)
}

// absent returns nil if there is no such object, and errExists if there is.
func (b *bucket) absent(ctx context.Context, conn objects, key string) error {
	_, err := conn.stat(ctx, key)
	if err == nil {
		return errExists
	}
	if _, known := classify(ctx, err); errors.Is(known, cache.ErrNotFound) {
		return nil
	}
	return err
}

// remove deletes an object. If it does not exist, that is fine.
func (b *bucket) remove(ctx context.Context, key string) error {
	err := b.do(ctx, "delete", key, true, func(ctx context.Context, conn objects, _ *watchdog) error {
		return conn.remove(ctx, key)
	})
	if errors.Is(err, cache.ErrNotFound) {
		return nil
	}
	return err
}

// list calls fn with every key that starts with prefix.
func (b *bucket) list(ctx context.Context, prefix string, fn func(key string)) error {
	last := ""
	for more := true; more; {
		err := b.do(ctx, "list", prefix, false, func(ctx context.Context, conn objects, dog *watchdog) (err error) {
			more, err = conn.list(ctx, prefix, last, func(key string) {
				dog.heard()
				last = key
				fn(key)
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkFormat makes sure that the bucket contains a remote cache of this
// version, or nothing yet. With write, it writes the version to an empty
// bucket.
func (b *bucket) checkFormat(ctx context.Context, write bool) error {
	if b.formatWritten.Load() || !write && b.formatSeen.Load() {
		return nil
	}
	err := b.get(ctx, formatKey, 1<<10, func(data []byte) error {
		if string(data) != formatText {
			return localError{fmt.Errorf("%w: %q", errFormat, data)}
		}
		return nil
	})
	if errors.Is(err, cache.ErrNotFound) {
		if !write {
			b.formatSeen.Store(true)
			return nil
		}
		if err = b.put(ctx, formatKey, int64(len(formatText)), false, contentBytes([]byte(formatText))); errors.Is(err, errExists) {
			return b.checkFormat(ctx, write) // another writer was faster
		}
	}
	if err != nil {
		return err
	}
	b.formatWritten.Store(true)
	return nil
}

// contentBytes is content in memory.
func contentBytes(data []byte) content {
	return func(context.Context) io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }
}

func (b *bucket) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil {
		b.conn.close()
		b.conn = nil
	}
}
