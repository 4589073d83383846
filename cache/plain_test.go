package cache_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/memory"
)

// reading is a store that has no other ability.
type reading struct{ cache.Store }

func TestPlain(t *testing.T) {
	files := cache.Plain{Store: reading{memory.New()}}
	ref, err := cache.PutBytes(t.Context(), files, []byte("some content"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	how, err := files.Place(t.Context(), ref, path, cache.Placement{Executable: true})
	if err != nil || how != cache.Copied {
		t.Fatalf("Place = %v, %v, want a copy", how, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o555 || info.Size() != ref.Size {
		t.Errorf("placed %v, %v, want mode 0555 and %d bytes", info, err, ref.Size)
	}
	if _, err := files.Place(t.Context(), ref, path, cache.Placement{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("Place over a file: %v, want os.ErrExist", err)
	}
	r, err := files.OpenAt(t.Context(), ref.ID)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(r, 5, r.Size()))
	if string(got) != "content" || err != nil {
		t.Errorf("read %q, %v at 5, want %q", got, err, "content")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := files.OpenAt(context.Background(), [32]byte{1}); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("OpenAt of what is not there: %v, want cache.ErrNotFound", err)
	}
}
