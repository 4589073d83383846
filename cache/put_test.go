package cache_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
)

// endless gives zeros until its context is cancelled after some reads; one
// that is not noticed fails the test by never ending.
type endless struct {
	reads  int
	cancel func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.reads++; e.reads == 3 {
		e.cancel()
	}
	if e.reads > 1000 {
		return 0, errors.New("the cancellation was not noticed")
	}
	clear(p)
	return len(p), nil
}

func TestPutStopsWithItsContext(t *testing.T) {
	cause := errors.New("the person pressed Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := cache.Put(ctx, memory.New(), &endless{cancel: func() { cancel(cause) }}, cache.Ref{}); !errors.Is(err, cause) {
		t.Errorf("Put: error %v, want %v", err, cause)
	}
}

func TestCopy(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 10_000)
	var got bytes.Buffer
	if n, err := cache.Copy(t.Context(), &got, bytes.NewReader(want)); err != nil || n != int64(len(want)) || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("Copy = %d, %v", n, err)
	}
}

func TestGetHasALimit(t *testing.T) {
	s := memory.New()
	ref, err := cache.PutBytes(t.Context(), s, []byte("12345"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := cache.Get(t.Context(), s, ref.ID, 5); err != nil || string(data) != "12345" {
		t.Errorf("Get = %q, %v", data, err)
	}
	if _, err := cache.Get(t.Context(), s, ref.ID, 4); err == nil {
		t.Error("five bytes were read with a limit of four")
	}
	if _, err := cache.Get(t.Context(), s, digest.Of([]byte("nobody")), 5); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Get of nothing: error %v", err)
	}
}
