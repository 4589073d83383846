package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/internal/pool"
)

// space is the accounting of a simulated quota and disk.
type space struct {
	pool pool.Pool
	// used is the size of objects, of unfinished ingests, and of reserved bytes that
	// are not drawn.
	used atomic.Int64
	// quota and disk are the limits; 0 means none.
	quota, disk atomic.Int64
	mu          sync.Mutex
}

// Limit sets a quota and the size of the disk in bytes; 0 is no limit. Nothing
// is evicted to stay within them.
func (c *Cache) Limit(quota, disk int64) {
	c.space.quota.Store(quota)
	c.space.disk.Store(disk)
}

// Reserve implements cache.Reserver.
func (c *Cache) Reserve(ctx context.Context, bytes int64) (func(), error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if bytes <= 0 {
		return func() {}, nil
	}
	if err := c.space.reserve(cache.Account(ctx), bytes); err != nil {
		return nil, fmt.Errorf("reserve %d bytes in the cache: %w", bytes, err)
	}
	return sync.OnceFunc(func() { c.space.used.Add(-c.space.pool.Close(cache.Account(ctx), bytes)) }), nil
}

func (r *space) reserve(account any, bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, limit := range []struct {
		size int64
		err  error
	}{{r.quota.Load(), cache.ErrQuota}, {r.disk.Load(), cache.ErrSpace}} {
		missing := r.used.Load() + bytes - limit.size
		switch {
		case limit.size <= 0 || missing <= 0:
		case bytes <= limit.size && missing <= r.pool.Left.Load():
			return fmt.Errorf("%w; %d bytes are %w", limit.err, r.pool.Left.Load(), cache.ErrReserved)
		default:
			return limit.err
		}
	}
	r.used.Add(bytes)
	r.pool.Open(account, bytes)
	return nil
}

// charge is the number of bytes that an ingest counts, and the part of them that
// was drawn from reservations.
type charge struct {
	bytes, drawn int64
	// account is the owner of the reservations that are drawn on.
	account any
}

// take counts n bytes that are about to be written.
func (r *space) take(held *charge, n int64) error {
	drawn := r.pool.Draw(held.account, n)
	held.bytes += n
	held.drawn += drawn
	used := r.used.Add(n - drawn)
	if quota := r.quota.Load(); drawn < n && quota > 0 && used > quota {
		r.uncharge(held, charge{bytes: n, drawn: drawn})
		return cache.ErrQuota
	}
	return nil
}

// giveBack uncounts n of the bytes that are held.
func (r *space) giveBack(held *charge, n int64) {
	r.uncharge(held, charge{bytes: n, drawn: min(n, held.drawn)})
}

func (r *space) uncharge(held *charge, n charge) {
	held.bytes -= n.bytes
	held.drawn -= n.drawn
	r.used.Add(-(n.bytes - r.pool.Return(held.account, n.drawn)))
}
