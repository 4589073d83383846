package faulty_test

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/cachetest"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/faulty"
	"github.com/mleflow/mleflow/cache/memory"
)

// Without faults the wrapper keeps every contract.
func TestConformance(t *testing.T) {
	cachetest.TestStore(t, func(*testing.T) cache.Store { return faulty.Wrap(memory.New()) })
	cachetest.TestIndex(t, func(*testing.T) cachetest.Cache { return faulty.Wrap(memory.New()) })
	cachetest.TestLocker(t, func(*testing.T) cache.Locker { return faulty.Wrap(memory.New()) })
}

func TestReads(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 10_000)
	for _, size := range []int{0, 1, 10, len(data)} {
		all := func(digest.ContentID) bool { return true }
		broken := errors.New("broken device")
		for want, f := range map[error]faulty.Faults{
			cache.ErrCorrupt: {Flip: all},
			broken:           {Read: func(digest.ContentID) error { return broken }},
			nil:              {Short: func(digest.ContentID) bool { return false }},
		} {
			c := faulty.Wrap(memory.New())
			ref, err := cache.PutBytes(t.Context(), c, data[:size])
			if err != nil {
				t.Fatal(err)
			}
			c.Set(f)
			r, err := c.Open(t.Context(), ref.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if !errors.Is(err, want) || (err != nil && size > 0 && len(got) >= size) {
				t.Errorf("%d bytes: read %d, %v, want error %v before the end", size, len(got), err, want)
			}
		}
	}
}

func TestSpace(t *testing.T) {
	c := faulty.Wrap(memory.New())
	space := &atomic.Int64{}
	space.Store(15)
	c.Set(faulty.Faults{Space: space})
	if _, err := cache.PutBytes(t.Context(), c, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	in, err := c.Ingest(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := in.Write(make([]byte, 10)); n != 5 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write = %d, %v, want 5 and a full disk", n, err)
	}
	if in.Offset() != 5 {
		t.Errorf("offset %d, want 5", in.Offset())
	}
	if _, err := cache.PutBytes(t.Context(), c, []byte{1}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("PutBytes: %v, want a full disk", err)
	}
}

func TestCrashes(t *testing.T) {
	c := faulty.Wrap(memory.New())
	text := []byte("text")
	c.Set(faulty.Faults{Commit: func(ref cache.Ref) error {
		if ref.ID == digest.Of(text) {
			return faulty.ErrCrash
		}
		return nil
	}})
	if _, err := cache.PutBytes(t.Context(), c, text); !errors.Is(err, faulty.ErrCrash) {
		t.Errorf("PutBytes: %v", err)
	}
	if _, err := c.Has(t.Context(), digest.Of(text)); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Has: %v", err)
	}
	if _, err := cache.PutBytes(t.Context(), c, []byte("other")); err != nil {
		t.Errorf("PutBytes of other content: %v", err)
	}
	rec := &cache.Record{Action: digest.ActionID{1}}
	c.Set(faulty.Faults{Record: func(*cache.Record) error { return faulty.ErrCrash }})
	if err := c.Record(t.Context(), rec); !errors.Is(err, faulty.ErrCrash) {
		t.Errorf("Record: %v", err)
	}
	if _, err := c.Lookup(t.Context(), rec.Action); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Lookup: %v", err)
	}
	c.Set(faulty.Faults{Lookup: func(digest.ActionID) error { return syscall.EIO }})
	if _, err := c.Lookup(t.Context(), rec.Action); !errors.Is(err, syscall.EIO) {
		t.Errorf("Lookup: %v", err)
	}
	if c.Commits.Load() != 2 || c.Records.Load() != 1 || c.Lookups.Load() != 2 {
		t.Errorf("counted %d commits, %d records, %d lookups", c.Commits.Load(), c.Records.Load(), c.Lookups.Load())
	}
}

func TestFlipDropsRecords(t *testing.T) {
	c := faulty.Wrap(memory.New())
	ref, err := cache.PutBytes(t.Context(), c, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	rec := &cache.Record{Action: digest.ActionID{1}, Outputs: cache.Outputs{"out": {Ref: ref}}}
	if err := c.Record(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	c.Set(faulty.Faults{Flip: func(id digest.ContentID) bool { return id == ref.ID }})
	if _, err := cache.Get(t.Context(), c, ref.ID, 100); !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("Get: %v", err)
	}
	if tomb, err := c.Evicted(t.Context(), rec.Action); err != nil || tomb.Reason != "corrupt" {
		t.Errorf("tombstone %+v, %v", tomb, err)
	}
}
