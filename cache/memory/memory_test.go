package memory_test

import (
	"errors"
	"io"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/cachetest"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
)

func TestStore(t *testing.T) {
	cachetest.TestStore(t, func(*testing.T) cache.Store { return memory.New() })
}

func TestIndex(t *testing.T) {
	cachetest.TestIndex(t, func(*testing.T) cachetest.Cache { return memory.New() })
}

func TestLocker(t *testing.T) {
	cachetest.TestLocker(t, func(*testing.T) cache.Locker { return memory.New() })
}

func TestKeeper(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // what is kept stays
	cachetest.TestKeeper(t, func(*testing.T) cache.Keeper { return memory.New() })
}

func TestReserver(t *testing.T) {
	cachetest.TestReserver(t, func(_ *testing.T, quota int64) cachetest.ReservingStore {
		c := memory.New()
		c.Limit(quota, quota*3/2)
		return c
	})
}

func TestReserveSpace(t *testing.T) {
	c := memory.New()
	c.Limit(0, 1000)
	release, err := c.Reserve(t.Context(), 800)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reserve(t.Context(), 201); !errors.Is(err, cache.ErrSpace) || !errors.Is(err, cache.ErrReserved) {
		t.Errorf("error %v, want cache.ErrSpace and cache.ErrReserved", err)
	}
	release()
	if _, err := c.Reserve(t.Context(), 1001); !errors.Is(err, cache.ErrSpace) || errors.Is(err, cache.ErrReserved) {
		t.Errorf("error %v, want cache.ErrSpace and nothing reserved", err)
	}
}

func TestFlip(t *testing.T) {
	c := memory.New()
	ref, err := cache.PutBytes(t.Context(), c, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	rec := &cache.Record{Action: digest.ActionID{1}, Outputs: cache.Outputs{"out": {Ref: ref}}}
	if err := c.Record(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	c.Flip(ref.ID)
	r, err := c.Open(t.Context(), ref.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("read: %v, want cache.ErrCorrupt", err)
	}
	tomb, err := c.Evicted(t.Context(), rec.Action)
	if err != nil || tomb.Reason != "corrupt" {
		t.Errorf("Evicted = %+v, %v, want reason corrupt", tomb, err)
	}
}
