package cachetest

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/cache"
)

// ReservingStore is the interface that TestReserver checks.
type ReservingStore interface {
	cache.Store
	cache.Reserver
}

// TestReserver checks a Reserver. Each call of open gives an empty store with a
// quota in bytes, on a disk with one and a half times that space.
func TestReserver(t *testing.T, open func(t *testing.T, quota int64) ReservingStore) {
	tests := []struct {
		name string
		run  func(t *testing.T, s ReservingStore)
	}{
		{"quota can never hold it", reserveTooMuch},
		{"nothing", reserveNothing},
		{"what is reserved is taken", reserveTakes},
		{"ingests draw on it", reserveDraws},
		{"beyond the reservation", reserveBeyond},
		{"a dropped ingest gives back", reserveDropped},
		{"reservations are separate", reserveOther},
		{"accounts", reserveAccounts},
		{"cancelled context", reserveCancelled},
		{"many at once", reserveMany},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t, reserveQuota)) })
	}
}

const reserveQuota = 1 << 20

func reserve(t *testing.T, s cache.Reserver, bytes int64) (release func()) {
	t.Helper()
	release, err := s.Reserve(t.Context(), bytes)
	if err != nil {
		t.Fatalf("Reserve %d bytes: %v", bytes, err)
	}
	return release
}

// wantSpace fails unless exactly that many bytes can be reserved.
func wantSpace(t *testing.T, s cache.Reserver, bytes int64) {
	t.Helper()
	if bytes > 0 {
		release, err := s.Reserve(cache.WithAccount(t.Context()), bytes)
		if err != nil {
			t.Fatalf("Reserve %d bytes: %v", bytes, err)
		}
		release()
	}
	release, err := s.Reserve(t.Context(), bytes+1)
	if err == nil {
		release()
	}
	if !errors.Is(err, cache.ErrQuota) {
		t.Errorf("Reserve of one more than %d bytes: error %v, want cache.ErrQuota", bytes, err)
	}
}

func reserveTooMuch(t *testing.T, s ReservingStore) {
	wantSpace(t, s, reserveQuota)
	if _, err := s.Reserve(t.Context(), reserveQuota+1); errors.Is(err, cache.ErrReserved) {
		t.Errorf("a reservation that can never fit fails as if space were reserved: %v", err)
	}
}

func reserveNothing(t *testing.T, s ReservingStore) {
	all := reserve(t, s, reserveQuota)
	reserve(t, s, 0)()
	wantSpace(t, s, 0)
	all()
	wantSpace(t, s, reserveQuota)
}

func reserveTakes(t *testing.T, s ReservingStore) {
	one := reserve(t, s, 600<<10)
	wantSpace(t, s, 424<<10)
	if _, err := s.Reserve(t.Context(), 500<<10); !errors.Is(err, cache.ErrReserved) {
		t.Errorf("error %v, want cache.ErrReserved", err)
	}
	two := reserve(t, s, 424<<10)
	wantSpace(t, s, 0)
	one()
	one()
	wantSpace(t, s, 600<<10)
	two()
	wantSpace(t, s, reserveQuota)
}

func reserveDraws(t *testing.T, s ReservingStore) {
	for _, key := range []string{"", "key"} {
		release := reserve(t, s, 300<<10)
		seed := uint64(20 + len(key))
		in := begin(t, s, key)
		write(t, in, content(seed, 100<<10))
		wantSpace(t, s, reserveQuota-300<<10-held(key))
		if _, err := in.Commit(t.Context(), cache.Ref{}); err != nil {
			t.Fatalf("Commit: %v", err)
		}
		wantSpace(t, s, reserveQuota-300<<10-held(key))
		put(t, s, content(seed, 100<<10)) // already stored: needs no space
		wantSpace(t, s, reserveQuota-300<<10-held(key))
		release()
		wantSpace(t, s, reserveQuota-100<<10-held(key))
	}
}

// held is what the previous run left in the store.
func held(key string) int64 {
	if key == "" {
		return 0
	}
	return 100 << 10
}

func reserveBeyond(t *testing.T, s ReservingStore) {
	release := reserve(t, s, 100<<10)
	in := begin(t, s, "")
	write(t, in, content(30, 300<<10))
	wantSpace(t, s, reserveQuota-300<<10)
	if n, err := io.CopyN(onlyWriter{in}, zeros{}, reserveQuota); !errors.Is(err, cache.ErrQuota) {
		t.Errorf("wrote %d bytes beyond the quota, error %v", n, err)
	}
	wantSpace(t, s, reserveQuota-in.Offset()) // a failed write must not stay counted
	in.Close()
	release()
	wantSpace(t, s, reserveQuota)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func reserveDropped(t *testing.T, s ReservingStore) {
	for _, key := range []string{"", "key"} {
		release := reserve(t, s, 300<<10)
		rest := reserve(t, s, reserveQuota-300<<10)
		for range 4 {
			in := begin(t, s, key)
			write(t, in, content(31, 200<<10))
			if err := in.Reset(); err != nil {
				t.Fatalf("Reset: %v", err)
			}
			write(t, in, content(32, 300<<10))
			if err := errors.Join(in.Reset(), in.Close()); err != nil {
				t.Fatalf("Reset and Close: %v", err)
			}
			wantSpace(t, s, 0)
		}
		release()
		wantSpace(t, s, 300<<10)
		rest()
		wantSpace(t, s, reserveQuota)
	}
}

// A reservation that is used up and released does not affect the other one.
func reserveOther(t *testing.T, s ReservingStore) {
	first := reserve(t, s, 400<<10)
	second := reserve(t, s, 400<<10)
	put(t, s, content(33, 400<<10)) // the second's
	second()
	hog := reserve(t, s, reserveQuota-800<<10)
	put(t, s, content(34, 400<<10)) // the first's
	first()
	hog()
	wantSpace(t, s, reserveQuota-800<<10)
}

// A reservation waits for the ingests of its own account. What is left of it is
// free as soon as it is released.
func reserveAccounts(t *testing.T, s ReservingStore) {
	one, two := cache.WithAccount(t.Context()), cache.WithAccount(t.Context())
	release, err := s.Reserve(one, 600<<10)
	if err != nil {
		t.Fatalf("Reserve: %v", err)
	}
	other, err := s.Reserve(two, 300<<10)
	if err != nil {
		t.Fatalf("Reserve: %v", err)
	}
	for _, tt := range []struct {
		ctx  context.Context
		size int64
		ok   bool
	}{{one, 500 << 10, true}, {two, 600 << 10, false}, {two, 300 << 10, true}} {
		in, err := s.Ingest(tt.ctx, "")
		if err != nil {
			t.Fatalf("Ingest: %v", err)
		}
		if _, err = in.Write(content(uint64(tt.size), int(tt.size))); err == nil {
			_, err = in.Commit(tt.ctx, cache.Ref{})
		}
		if (err == nil) != tt.ok || (err != nil && !errors.Is(err, cache.ErrQuota)) {
			t.Errorf("ingest of %d bytes: error %v", tt.size, err)
		}
		in.Close()
	}
	wantSpace(t, s, reserveQuota-900<<10)
	release()
	wantSpace(t, s, reserveQuota-800<<10)
	other()
	wantSpace(t, s, reserveQuota-800<<10)
}

func reserveCancelled(t *testing.T, s ReservingStore) {
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := s.Reserve(ctx, 1); !errors.Is(err, cause) {
		t.Errorf("Reserve: error %v, want the cause of the end", err)
	}
	wantSpace(t, s, reserveQuota)
}

func reserveMany(t *testing.T, s ReservingStore) {
	var group sync.WaitGroup
	for worker := range 6 {
		group.Go(func() {
			ctx := cache.WithAccount(t.Context())
			for i := range 8 {
				release, err := s.Reserve(ctx, 150<<10)
				if err != nil {
					t.Errorf("Reserve: %v", err)
					return
				}
				data := content(uint64(40+worker*8+i), 150<<10)
				in, err := s.Ingest(ctx, "")
				if err == nil {
					_, err = in.Write(data)
					err = errors.Join(err, in.Close())
				}
				if err != nil {
					t.Errorf("Ingest within the reservation: %v", err)
				}
				release()
			}
		})
	}
	group.Wait()
	wantSpace(t, s, reserveQuota)
}
