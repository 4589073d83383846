package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

const (
	// chunkBytes is the size of the parts in which a large object is fetched, and
	// chunksAhead the number of parts in flight. One stream from a distant store is
	// limited by latency, not bandwidth. With 8 transfers at a time, this takes about
	// 300 MiB of memory.
	chunkBytes  = 8 << 20
	chunksAhead = 4
	// manyChunks is the size from which several streams pay off.
	manyChunks = 2 * chunkBytes
)

// fetchObject fetches an object of objects/ unless it is already in the local
// cache. A negative size is unknown. A fetch that is interrupted, even by the
// end of the process, is continued later.
func (t *fetcher) fetchObject(ctx context.Context, root cache.Ref, id digest.ContentID, size int64) error {
	if _, err := t.local.Has(ctx, id); err == nil {
		return nil
	}
	release, err := t.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	key := objectKey(id)
	if size < 0 {
		if size, err = t.bucket.size(ctx, key); err != nil {
			return t.refuse(ctx, root, key, err)
		}
	}
	in, err := t.local.Ingest(ctx, "remote object "+id.String())
	if err != nil {
		return err
	}
	want := cache.Ref{Kind: cache.Blob, ID: id, Size: size}
	err = t.fill(ctx, in, want, key)
	if errors.Is(err, cache.ErrCorrupt) { // perhaps damaged on its way: once more from the start
		if err = in.Reset(); err == nil {
			err = t.fill(ctx, in, want, key)
		}
	}
	if errors.Is(err, cache.ErrCorrupt) || errors.Is(err, cache.ErrNotFound) {
		err = errors.Join(err, in.Reset())
	}
	return t.refuse(ctx, root, key, errors.Join(err, in.Close()))
}

// fill fetches the missing bytes of an ingest and commits it.
func (t *fetcher) fill(ctx context.Context, in cache.Ingest, want cache.Ref, key string) error {
	if in.Offset() > want.Size {
		if err := in.Reset(); err != nil {
			return err
		}
	}
	for in.Offset() < want.Size {
		before := in.Offset()
		err := t.advance(ctx, in, want.Size, key)
		if errors.Is(err, errUnavailable) && in.Offset() > before && ctx.Err() == nil {
			continue // as long as it gets on
		}
		if err != nil {
			return err
		}
	}
	if _, err := in.Commit(ctx, want); err != nil {
		return fmt.Errorf("read %s/%s: %w", t.loc, key, err)
	}
	return nil
}

// advance reads until the end or an error.
func (t *fetcher) advance(ctx context.Context, in cache.Ingest, size int64, key string) error {
	if size-in.Offset() > manyChunks {
		return t.chunks(ctx, in, size, key)
	}
	return t.bucket.read(ctx, key, func() (int64, int64) { return in.Offset(), -1 }, func(r io.Reader, whole int64) error {
		if whole != size {
			return fmt.Errorf("%w: it has %d bytes, not %d", cache.ErrCorrupt, whole, size)
		}
		return receiveBytes(in, bufio.NewReaderSize(r, 64<<10), size-in.Offset())
	})
}

// chunk is a part of an object that is being read.
type chunk struct {
	done chan error
	data *[chunkBytes]byte
	size int64
}

var chunkBuffers = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// chunks reads an object in several streams and writes it in order.
func (t *fetcher) chunks(ctx context.Context, in cache.Ingest, size int64, key string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ahead := make(chan *chunk, chunksAhead-1) // and one more is being written
	go func() {
		defer close(ahead)
		for offset := in.Offset(); offset < size; offset += chunkBytes {
			c := &chunk{make(chan error, 1), chunkBuffers.Get().(*[chunkBytes]byte), min(chunkBytes, size-offset)}
			go func() { c.done <- t.readChunk(ctx, key, offset, c.data[:c.size]) }()
			select {
			case ahead <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	for c := range ahead {
		if err := <-c.done; err != nil {
			return err
		}
		if _, err := in.Write(c.data[:c.size]); err != nil {
			return err
		}
		chunkBuffers.Put(c.data)
	}
	return ctx.Err()
}

// readChunk fills data from an offset on. Bytes that arrived before a failure are
// kept.
func (t *fetcher) readChunk(ctx context.Context, key string, offset int64, data []byte) error {
	got := 0
	return t.bucket.read(ctx, key, func() (int64, int64) { return offset + int64(got), int64(len(data) - got) }, func(r io.Reader, _ int64) error {
		n, err := io.ReadFull(r, data[got:])
		got += n
		return noEOF(err)
	})
}
