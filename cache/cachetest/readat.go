package cachetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// readAt reads at offsets between writes, and still commits the right blob.
func readAt(t *testing.T, s cache.Store) {
	for _, key := range []string{"", "key"} {
		for _, size := range sizes {
			data := content(9, size)
			in := begin(t, s, key)
			write(t, in, data[:size/2])
			wantWritten(t, in, data[:size/2])
			write(t, in, data[size/2:])
			wantWritten(t, in, data)
			ref, err := in.Commit(t.Context(), cache.Ref{ID: digest.Of(data)})
			if err != nil {
				t.Fatalf("%d bytes: Commit: %v", size, err)
			}
			wantContent(t, s, ref, data)
			if _, err := in.ReadAt(make([]byte, 1), 0); err == nil {
				t.Error("ReadAt after Commit succeeded")
			}
		}
	}
}

// wantWritten reads an ingest from several goroutines, at its ends and beyond.
func wantWritten(t *testing.T, in cache.Ingest, data []byte) {
	t.Helper()
	var group sync.WaitGroup
	for at := 0; at <= len(data); at += max(1, len(data)/3) {
		group.Go(func() {
			got, err := io.ReadAll(io.NewSectionReader(in, int64(at), 1<<40))
			if err != nil || !bytes.Equal(got, data[at:]) {
				t.Errorf("at %d of %d: read %d bytes, error %v", at, len(data), len(got), err)
			}
		})
	}
	group.Wait()
	if n, err := in.ReadAt(make([]byte, 1), int64(len(data))); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("ReadAt at the end = %d, %v, want io.EOF", n, err)
	}
	if _, err := in.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("ReadAt before the beginning succeeded")
	}
}

// keyedWorkFile resumes an ingest, reads what the previous one wrote, and drops
// it without publishing anything.
func keyedWorkFile(t *testing.T, s cache.Store) {
	for _, size := range sizes {
		key, data := fmt.Sprint("archive ", size), content(10, size)
		in := begin(t, s, key)
		write(t, in, data)
		if err := in.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		again := begin(t, s, key)
		wantWritten(t, again, data)
		if err := again.Reset(); err != nil {
			t.Fatalf("Reset: %v", err)
		}
		wantWritten(t, again, nil)
		if err := again.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		wantMissing(t, s, digest.Of(data))
		if third := begin(t, s, key); third.Offset() != 0 {
			t.Errorf("Offset = %d after Reset and Close, want 0", third.Offset())
		}
	}
}
