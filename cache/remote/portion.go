package remote

import (
	"context"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache"
)

// Moved is the amount of content that a Tier has fetched and stored so far.
type Moved struct {
	// Fetched and Stored are the bytes of requested content that have arrived or are
	// being transferred. Content that was already in place counts too, and content that
	// is requested again counts again.
	Fetched, Stored int64
	// Recorded is the size of the recorded content, which is stored in the background.
	Recorded int64
	// In and Out are the bytes that went over the connection, including those of failed
	// attempts.
	In, Out int64
}

// moving holds the counters behind Moved.
type moving struct{ fetched, stored, recorded, out atomic.Int64 }

// Moved returns the content that was moved so far.
func (t *Tier) Moved() Moved {
	m := &t.moving
	return Moved{m.fetched.Load(), m.stored.Load(), m.recorded.Load(), t.stats.bytesIn.Load(), m.out.Load()}
}

// portion is a piece of content in transfer. Its bytes are counted up to its size,
// even if more are sent, and its full size is counted at the end.
type portion struct {
	left atomic.Int64
	sums [2]*atomic.Int64 // of the Tier, and of who asked, or nil
}

type (
	portionKey struct{}
	countKey   struct{}
)

// WithCount returns a context in which sum counts the bytes of content that are
// fetched or stored, as Moved does for all.
func WithCount(ctx context.Context, sum *atomic.Int64) context.Context {
	return context.WithValue(ctx, countKey{}, sum)
}

func newPortion(ctx context.Context, size int64, sum *atomic.Int64) *portion {
	asked, _ := ctx.Value(countKey{}).(*atomic.Int64)
	p := &portion{sums: [2]*atomic.Int64{sum, asked}}
	p.left.Store(size)
	return p
}

// withPortion returns a context whose transfers are counted as parts of ref, and
// the function that counts the rest, unless there was an error.
func withPortion(ctx context.Context, ref cache.Ref, sum *atomic.Int64) (context.Context, func(error)) {
	p := newPortion(ctx, ref.Size, sum)
	return context.WithValue(ctx, portionKey{}, p), func(err error) {
		if err == nil {
			p.moved(p.left.Load())
		}
	}
}

// there counts content that is already in place.
func there(ctx context.Context, size int64, sum *atomic.Int64) {
	newPortion(ctx, size, sum).moved(size)
}

// portionOf returns the portion that a transfer is a part of, or nil.
func portionOf(ctx context.Context) *portion {
	p, _ := ctx.Value(portionKey{}).(*portion)
	return p
}

// moved counts n more bytes.
func (p *portion) moved(n int64) {
	if p == nil {
		return
	}
	for {
		left := p.left.Load()
		if n = min(n, left); n <= 0 {
			return
		}
		if !p.left.CompareAndSwap(left, left-n) {
			continue
		}
		for _, sum := range p.sums {
			if sum != nil {
				sum.Add(n)
			}
		}
		return
	}
}

// Size returns the bytes of content that a record leads to.
func Size(rec *cache.Record) (n int64) {
	for _, ref := range refsOf(rec) {
		n += ref.Size
	}
	return n
}
