package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// part is a range of bytes that is fetched into memory.
type part struct {
	from int64
	buf  []byte
	// got is how many bytes of buf are valid; news signals more.
	got  atomic.Int64
	news chan struct{}
}

func (p *part) grow(n int) {
	p.got.Add(int64(n))
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// rest is the missing range.
func (p *part) rest() (first, end int64) { return p.from + p.got.Load(), p.from + int64(len(p.buf)) }

// fetchParts fetches the sink's missing bytes through several connections.
// Parts are started in order, and at most connections+spare of them are in
// memory. What arrived in order is in the sink, even after a failure.
func (t *transfer) fetchParts(ctx context.Context, s *sink) error {
	const spare = 2
	size, connections := t.layout(t.version.total - s.offset())
	q := &queue{ordered: make(chan *part, connections+spare), todo: make(chan *part), free: make(chan []byte, connections+spare)}
	for range cap(q.free) {
		q.free <- nil
	}
	g, ctx := errgroup.WithContext(ctx)
	from := s.offset()
	g.Go(func() error { q.deal(ctx, from, t.version.total, size); return nil })
	for range connections {
		g.Go(func() error { return t.fetchEach(ctx, q.todo) })
	}
	g.Go(func() error { return t.writeEach(ctx, s, q) })
	return g.Wait()
}

// queue is the parts in progress, whose number is limited by memory.
type queue struct {
	ordered, todo chan *part
	free          chan []byte
}

// deal divides the file into parts as memory becomes free.
func (q *queue) deal(ctx context.Context, from, total, size int64) {
	defer close(q.ordered)
	defer close(q.todo)
	for from < total {
		var buf []byte
		select {
		case buf = <-q.free:
		case <-ctx.Done():
			return
		}
		if buf == nil {
			buf = make([]byte, size)
		}
		p := &part{from: from, buf: buf[:min(size, total-from)], news: make(chan struct{}, 1)}
		from += int64(len(p.buf))
		q.ordered <- p // has capacity for all parts in memory
		select {
		case q.todo <- p:
		case <-ctx.Done():
			return
		}
	}
}

// fetchEach is one connection.
func (t *transfer) fetchEach(ctx context.Context, todo <-chan *part) error {
	for p := range todo {
		for p.got.Load() < int64(len(p.buf)) {
			err := t.retry(ctx, func() (bool, error) {
				before := p.got.Load()
				err := t.fetchPart(ctx, p)
				return p.got.Load() > before, err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// fetchPart requests the missing range of a part and keeps the bytes that arrive.
func (t *transfer) fetchPart(ctx context.Context, p *part) error {
	first, end := p.rest()
	a, err := t.open(ctx, t.condition(first, end))
	if err != nil {
		return err
	}
	defer a.close()
	if a.StatusCode != http.StatusPartialContent {
		return t.unexpected(a.Response)
	}
	n, err := t.version.part(a.Response, first, end)
	if err != nil {
		return err
	}
	got := p.got.Load()
	dst := p.buf[got : got+n]
	if a.ContentLength >= 0 {
		return a.fill(ctx, dst, p.grow)
	}
	// Only the end of such an answer shows whether it is too long, and then none
	// of it can be trusted.
	came := 0
	err = a.fill(ctx, dst, func(n int) { came += n })
	if err == nil || came < len(dst) {
		p.grow(came)
	}
	return err
}

// condition requests a range of this version only.
func (t *transfer) condition(first, end int64) http.Header {
	h := http.Header{}
	h.Set("Range", fmt.Sprintf("bytes=%d-%d", first, end-1))
	version, same := t.version.etag, "If-Match"
	if version == "" {
		version, same = t.version.modified, "If-Unmodified-Since"
	}
	if version != "" {
		h.Set("If-Range", version)
		if !t.unconditional { // a server that has another version then sends no body
			h.Set(same, version)
		}
	}
	return h
}

// errWhole says that a server that supported ranges no longer does.
var errWhole = errors.New("the server sent the whole file instead of a part")

// unexpected classifies an answer that is not the requested part.
func (t *transfer) unexpected(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		if t.version.changed(versionOf(resp)) {
			return errChanged
		}
		return &TemporaryError{Err: errWhole}
	case http.StatusPreconditionFailed:
		return errChanged
	case http.StatusRequestedRangeNotSatisfiable:
		if resp.Header.Get("Content-Range") != fmt.Sprintf("bytes */%d", t.version.total) {
			return errChanged
		}
		return &TemporaryError{Err: t.origin.refusal(resp)}
	}
	return t.origin.refusal(resp)
}

// writeEach writes the parts in order, while each arrives.
func (t *transfer) writeEach(ctx context.Context, s *sink, q *queue) error {
	for p := range q.ordered {
		if err := t.writePart(ctx, s, p); err != nil {
			return err
		}
		q.free <- p.buf[:cap(p.buf)]
	}
	return nil
}

func (t *transfer) writePart(ctx context.Context, s *sink, p *part) error {
	for done := int64(0); done < int64(len(p.buf)); {
		got := p.got.Load()
		stopped := ctx.Err() != nil
		if got == int64(len(p.buf)) || got-done >= piece || stopped && got > done {
			if err := s.write(p.buf[done:got]); err != nil {
				return err
			}
			done = got
			t.req.progress(s.offset(), t.version.total)
			continue
		}
		if stopped {
			return context.Cause(ctx)
		}
		select {
		case <-p.news:
		case <-ctx.Done():
		}
	}
	return nil
}
