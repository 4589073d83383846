package cachetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// TestStore checks a Store. Each call of open gives an empty one.
func TestStore(t *testing.T, open func(t *testing.T) cache.Store) {
	tests := []struct {
		name string
		run  func(t *testing.T, s cache.Store)
	}{
		{"put and get", putAndGet},
		{"missing object", missingObject},
		{"nothing before commit", nothingBeforeCommit},
		{"wanted digest", wantedDigest},
		{"wanted size", wantedSize},
		{"reset", reset},
		{"same content twice", sameContentTwice},
		{"use after close", useAfterClose},
		{"keyed ingest continues", keyedContinues},
		{"keyed ingest starts over after commit", keyedAfterCommit},
		{"keyed ingests take turns", keyedTakeTurns},
		{"keyed ingest drops a wrong tail", keyedWrongEnd},
		{"read what was written", readAt},
		{"keyed ingest as a work file", keyedWorkFile},
		{"cancelled context", cancelled},
		{"many at once", manyAtOnce},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
	}
}

// sizes lie on both sides of the limits at which implementations switch strategies.
var sizes = []int{0, 1, 100, 4095, 4096, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, 3<<20 + 7}

// content returns the same bytes for the same arguments.
func content(seed uint64, size int) []byte {
	data := make([]byte, size)
	var key [32]byte
	copy(key[:], fmt.Sprint(seed))
	_, _ = rand.NewChaCha8(key).Read(data)
	return data
}

func put(t *testing.T, s cache.Store, data []byte) cache.Ref {
	t.Helper()
	ref, err := cache.PutBytes(t.Context(), s, data)
	if err != nil {
		t.Fatalf("PutBytes: %v", err)
	}
	return ref
}

func wantContent(t *testing.T, s cache.Store, ref cache.Ref, want []byte) {
	t.Helper()
	r, err := s.Open(t.Context(), ref.ID)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("ReadAll: %v", err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("read %d bytes that differ from the %d that were stored", len(got), len(want))
	}
}

func wantMissing(t *testing.T, s cache.Store, id digest.ContentID) {
	t.Helper()
	if _, err := s.Has(t.Context(), id); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Has: error %v, want cache.ErrNotFound", err)
	}
	if r, err := s.Open(t.Context(), id); !errors.Is(err, cache.ErrNotFound) {
		if err == nil {
			r.Close()
		}
		t.Errorf("Open: error %v, want cache.ErrNotFound", err)
	}
}

func begin(t *testing.T, s cache.Store, key string) cache.Ingest {
	t.Helper()
	in, err := s.Ingest(t.Context(), key)
	if err != nil {
		t.Fatalf("Ingest: %v", err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

func write(t *testing.T, in cache.Ingest, data []byte) {
	t.Helper()
	if n, err := in.Write(data); err != nil || n != len(data) {
		t.Fatalf("Write = %d, %v, want %d", n, err, len(data))
	}
}

func putAndGet(t *testing.T, s cache.Store) {
	for _, size := range sizes {
		data := content(1, size)
		ref := put(t, s, data)
		want := cache.Ref{Kind: cache.Blob, ID: digest.Of(data), Size: int64(size)}
		if ref != want {
			t.Fatalf("%d bytes: ref = %+v, want %+v", size, ref, want)
		}
		if n, err := s.Has(t.Context(), ref.ID); err != nil || n != int64(size) {
			t.Fatalf("%d bytes: Has = %d, %v", size, n, err)
		}
		wantContent(t, s, ref, data)
		// Small reads and writes give the same result as large ones.
		in := begin(t, s, "")
		if _, err := io.CopyBuffer(onlyWriter{in}, iotest.HalfReader(bytes.NewReader(data)), make([]byte, 1000)); err != nil {
			t.Fatalf("%d bytes: write in pieces: %v", size, err)
		}
		if got, err := in.Commit(t.Context(), want); err != nil || got != want {
			t.Fatalf("%d bytes: Commit of pieces = %+v, %v", size, got, err)
		}
	}
}

type onlyWriter struct{ io.Writer }

func missingObject(t *testing.T, s cache.Store) { wantMissing(t, s, digest.Of([]byte("nobody"))) }

func nothingBeforeCommit(t *testing.T, s cache.Store) {
	for _, size := range sizes[1:] {
		data := content(2, size)
		in := begin(t, s, "")
		write(t, in, data)
		if in.Offset() != int64(size) {
			t.Errorf("Offset = %d, want %d", in.Offset(), size)
		}
		wantMissing(t, s, digest.Of(data))
		if err := in.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		wantMissing(t, s, digest.Of(data))
	}
}

func wantedDigest(t *testing.T, s cache.Store) {
	data := content(3, 100)
	in := begin(t, s, "")
	write(t, in, data)
	_, err := in.Commit(t.Context(), cache.Ref{Kind: cache.Blob, ID: digest.Of([]byte("else"))})
	if !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("Commit: error %v, want cache.ErrCorrupt", err)
	}
	wantMissing(t, s, digest.Of(data))
	wantMissing(t, s, digest.Of([]byte("else")))
}

func wantedSize(t *testing.T, s cache.Store) {
	data := content(4, 100)
	in := begin(t, s, "")
	write(t, in, data)
	_, err := in.Commit(t.Context(), cache.Ref{Kind: cache.Blob, ID: digest.Of(data), Size: 101})
	if !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("Commit: error %v, want cache.ErrCorrupt", err)
	}
	wantMissing(t, s, digest.Of(data))
}

func reset(t *testing.T, s cache.Store) {
	for _, key := range []string{"", "key"} {
		for _, size := range sizes {
			in := begin(t, s, key)
			write(t, in, content(5, size))
			if err := in.Reset(); err != nil {
				t.Fatalf("Reset: %v", err)
			}
			if in.Offset() != 0 {
				t.Fatalf("Offset after Reset = %d", in.Offset())
			}
			data := content(6, 1000)
			write(t, in, data)
			ref, err := in.Commit(t.Context(), cache.Ref{ID: digest.Of(data)})
			if err != nil {
				t.Fatalf("Commit: %v", err)
			}
			wantContent(t, s, ref, data)
		}
	}
}

func sameContentTwice(t *testing.T, s cache.Store) {
	for _, size := range sizes {
		data := content(7, size)
		if a, b := put(t, s, data), put(t, s, data); a != b {
			t.Errorf("refs differ: %+v, %+v", a, b)
		}
		wantContent(t, s, put(t, s, data), data)
	}
}

func useAfterClose(t *testing.T, s cache.Store) {
	for _, key := range []string{"", "key"} {
		in := begin(t, s, key)
		write(t, in, []byte("text"))
		if err := in.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		if err := in.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if _, err := in.Write([]byte("more")); err == nil {
			t.Error("Write after Close succeeded")
		}
		if _, err := in.Commit(t.Context(), cache.Ref{}); err == nil {
			t.Error("Commit after Close succeeded")
		}
		wantMissing(t, s, digest.Of([]byte("text")))
	}
}

func keyedContinues(t *testing.T, s cache.Store) {
	for _, size := range sizes {
		data := content(8, size)
		key := fmt.Sprint("download of ", size, " bytes/../ü")
		for _, end := range []int{size / 3, size / 2, size} {
			in := begin(t, s, key)
			write(t, in, data[in.Offset():end])
			if end < size || size == 0 {
				in.Close()
				continue
			}
			if _, err := in.Commit(t.Context(), cache.Ref{ID: digest.Of(data), Size: int64(size)}); err != nil {
				t.Fatalf("%d bytes: Commit: %v", size, err)
			}
			wantContent(t, s, cache.Ref{ID: digest.Of(data)}, data)
		}
	}
}

func keyedAfterCommit(t *testing.T, s cache.Store) {
	in := begin(t, s, "key")
	write(t, in, []byte("text"))
	if _, err := in.Commit(t.Context(), cache.Ref{}); err != nil {
		t.Fatalf("Commit: %v", err)
	}
	again := begin(t, s, "key")
	if again.Offset() != 0 {
		t.Errorf("Offset = %d, want 0", again.Offset())
	}
}

func keyedTakeTurns(t *testing.T, s cache.Store) {
	first := begin(t, s, "key")
	write(t, first, []byte("one "))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if in, err := s.Ingest(ctx, "key"); err == nil {
		in.Close()
		t.Fatal("two ingests of one key at once")
	}
	got, waits := make(chan error, 1), newWaiting(t.Context())
	go func() {
		second, err := s.Ingest(waits, "key")
		if err == nil {
			if second.Offset() != 4 {
				err = fmt.Errorf("offset = %d, want 4", second.Offset())
			}
			err = errors.Join(err, second.Close())
		}
		got <- err
	}()
	<-waits.begun
	first.Close()
	if err := <-got; err != nil {
		t.Errorf("second ingest: %v", err)
	}
}

// waiting is a context that signals when a caller begins to wait, for its end or
// for something else.
type waiting struct {
	context.Context
	once  sync.Once
	begun chan struct{}
}

func newWaiting(ctx context.Context) *waiting {
	return &waiting{Context: ctx, begun: make(chan struct{})}
}

// Done implements context.Context.
func (w *waiting) Done() <-chan struct{} {
	w.once.Do(func() { close(w.begun) })
	return w.Context.Done()
}

func keyedWrongEnd(t *testing.T, s cache.Store) {
	in := begin(t, s, "key")
	write(t, in, []byte("wrong"))
	if _, err := in.Commit(t.Context(), cache.Ref{ID: digest.Of([]byte("right"))}); !errors.Is(err, cache.ErrCorrupt) {
		t.Fatalf("Commit: error %v, want cache.ErrCorrupt", err)
	}
	in.Close()
	again := begin(t, s, "key")
	if err := again.Reset(); err != nil {
		t.Fatalf("Reset: %v", err)
	}
	write(t, again, []byte("right"))
	if _, err := again.Commit(t.Context(), cache.Ref{ID: digest.Of([]byte("right"))}); err != nil {
		t.Errorf("Commit of the right bytes: %v", err)
	}
}

func cancelled(t *testing.T, s cache.Store) {
	ref := put(t, s, []byte("text"))
	in := begin(t, s, "")
	write(t, in, []byte("other"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Ingest(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("Ingest: error %v", err)
	}
	if _, err := s.Open(ctx, ref.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: error %v", err)
	}
	if _, err := in.Commit(ctx, cache.Ref{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: error %v", err)
	}
	wantMissing(t, s, digest.Of([]byte("other")))
}

func manyAtOnce(t *testing.T, s cache.Store) {
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 40 {
				// Every content is written by several workers.
				data := content(uint64((worker+i)%20), 100*i)
				ref, err := cache.PutBytes(t.Context(), s, data)
				if err != nil {
					t.Errorf("PutBytes: %v", err)
					return
				}
				got, err := cache.Get(t.Context(), s, ref.ID, 1<<20)
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("Get = %d bytes, %v", len(got), err)
					return
				}
			}
		})
	}
	group.Wait()
}
