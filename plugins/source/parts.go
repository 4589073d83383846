package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// part is a run of bytes that is fetched into memory.
type part struct {
	from int64
	buf  []byte
	// got is how many bytes of buf are right; news tells of more.
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

// rest is the span that is missing.
func (p *part) rest() (first, end int64) { return p.from + p.got.Load(), p.from + int64(len(p.buf)) }

// fetchParts fetches what the sink lacks by several connections. Parts are
// begun in order and at most connections+spare are in memory.
func (t *transfer) fetchParts(ctx context.Context, s *sink) error {
	const spare = 2
	total := t.version.total
	size, connections := t.layout(total - s.offset())
	g, ctx := errgroup.WithContext(ctx)
	free := make(chan []byte, connections+spare)
	for range cap(free) {
		free <- nil
	}
	ordered, todo := make(chan *part, cap(free)), make(chan *part)
	g.Go(func() error {
		defer close(ordered)
		defer close(todo)
		return deal(ctx, s.offset(), total, size, free, ordered, todo)
	})
	for range connections {
		g.Go(func() error { return t.fetchEach(ctx, todo) })
	}
	g.Go(func() error { return t.writeEach(ctx, s, ordered, free) })
	return g.Wait()
}

// deal cuts the file into parts, as memory becomes free.
func deal(ctx context.Context, from, total, size int64, free <-chan []byte, ordered, todo chan<- *part) error {
	for from < total {
		var buf []byte
		select {
		case buf = <-free:
		case <-ctx.Done():
			return nil
		}
		n := min(size, total-from)
		if buf == nil {
			buf = make([]byte, n)
		}
		p := &part{from: from, buf: buf[:n], news: make(chan struct{}, 1)}
		from += n
		ordered <- p // has room for all there is memory for
		select {
		case todo <- p:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
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

// fetchPart asks for what is missing of a part, and keeps what comes.
func (t *transfer) fetchPart(ctx context.Context, p *part) error {
	first, end := p.rest()
	resp, flow, err := t.open(ctx, func(ctx context.Context) (*http.Response, error) {
		return t.origin.get(ctx, t.condition(first, end))
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent {
		return t.unexpected(resp)
	}
	n, err := t.version.part(resp, first, end)
	if err != nil {
		return err
	}
	got := p.got.Load()
	dst := p.buf[got : got+n]
	if resp.ContentLength >= 0 {
		return flow.fill(ctx, dst, p.grow)
	}
	// Only its end shows whether such an answer has the right length.
	if err := flow.fill(ctx, dst, func(int) {}); err != nil {
		return err
	}
	p.grow(len(dst))
	return nil
}

// condition asks for a span of the version and no other.
func (t *transfer) condition(first, end int64) http.Header {
	h := http.Header{}
	h.Set("Range", fmt.Sprintf("bytes=%d-%d", first, end-1))
	switch {
	case t.version.etag != "":
		h.Set("If-Range", t.version.etag)
		if !t.unconditional {
			// A server that has another version then sends no body.
			h.Set("If-Match", t.version.etag)
		}
	case t.version.modified != "":
		h.Set("If-Range", t.version.modified)
	}
	return h
}

// errWhole says that a server that gave parts does so no longer.
var errWhole = errors.New("the server gave the whole file instead of a part")

// unexpected says what an answer means that is not the part asked for.
func (t *transfer) unexpected(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		if w := versionOf(resp); t.version.differs(w) {
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

// writeEach writes the parts in order, each as it arrives.
func (t *transfer) writeEach(ctx context.Context, s *sink, ordered <-chan *part, free chan<- []byte) error {
	for p := range ordered {
		if err := t.writePart(ctx, s, p); err != nil {
			return err
		}
		free <- p.buf[:cap(p.buf)]
	}
	return nil
}

func (t *transfer) writePart(ctx context.Context, s *sink, p *part) error {
	for done := int64(0); done < int64(len(p.buf)); {
		got := p.got.Load()
		stopped := ctx.Err() != nil
		if got == int64(len(p.buf)) || got-done >= piece || stopped && got > done {
			if err := s.write(ctx, p.buf[done:got]); err != nil {
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
