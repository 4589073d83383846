package cache_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
)

func TestPutAndGet(t *testing.T) {
	s := memory.New()
	ref, err := cache.Put(t.Context(), s, strings.NewReader("text"), cache.Ref{})
	if err != nil || ref.ID != digest.Of([]byte("text")) || ref.Size != 4 {
		t.Fatalf("Put = %+v, %v", ref, err)
	}
	if data, err := cache.Get(t.Context(), s, ref.ID, 4); err != nil || string(data) != "text" {
		t.Errorf("Get = %q, %v", data, err)
	}
	if _, err := cache.Get(t.Context(), s, ref.ID, 3); err == nil {
		t.Error("Get went over its limit")
	}
	if _, err := cache.Get(t.Context(), s, digest.ContentID{1}, 3); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Get of a missing object: %v", err)
	}
	broken := errors.New("broken")
	if _, err := cache.Put(t.Context(), s, iotest.ErrReader(broken), cache.Ref{}); !errors.Is(err, broken) {
		t.Errorf("Put of a broken reader: %v", err)
	}
	if _, err := cache.Put(t.Context(), s, strings.NewReader("other"), ref); !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("Put of other content than wanted: %v", err)
	}
}

func TestFileMode(t *testing.T) {
	for want, p := range map[uint32]cache.Placement{
		0o444: {}, 0o555: {Executable: true}, 0o644: {Writable: true}, 0o755: {Writable: true, Executable: true},
		0o400: {OwnerOnly: true}, 0o700: {OwnerOnly: true, Writable: true, Executable: true},
	} {
		if got := p.FileMode(); uint32(got) != want {
			t.Errorf("%+v: mode %o, want %o", p, got, want)
		}
	}
}
