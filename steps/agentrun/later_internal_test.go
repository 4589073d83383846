package agentrun

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
)

// TestLargeFilesAreReadLater changes a large file after it was cloned: the checkpoint has
// what it was.
func TestLargeFilesAreReadLater(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	store, err := disk.Open(filepath.Join(dir, "cache"), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	big := filepath.Join(dir, "home", "agent", "big")
	write := func(path, text string, n int) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte(text), n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(big, "then", cloneBytes)
	write(filepath.Join(dir, "home", "agent", "small"), "then", 1)
	home, err := os.OpenRoot(filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	clones := 0
	h := &harvester{store: store, mask: secret.New(), budget: 1 << 30, live: true, memo: checkpoint.NewMemo(), details: &checkpoint.Details{}, taken: func(int64) {}, tries: 1,
		clone: func(src *os.File) *os.File {
			clones++
			to, err := os.CreateTemp(dir, "clone")
			if err == nil {
				_, err = io.Copy(to, src)
			}
			if err == nil {
				_, err = to.Seek(0, io.SeekStart)
			}
			if err != nil {
				t.Fatal(err)
			}
			return to
		}}
	k := kept{name: "agent", caps: pointCaps}
	k.caps.bytes = 1 << 30
	b := tree.NewBuilder(store)
	if err := b.AddDir("agent"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.harvest(ctx, home, k, b); err != nil {
		t.Fatal(err)
	}
	write(big, "late", cloneBytes)
	for _, rest := range h.later {
		if err := rest(ctx); err != nil {
			t.Fatal(err)
		}
	}
	ref, err := b.Build(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"agent/big": cloneBytes, "agent/small": 1} {
		e, err := tree.Find(ctx, store, ref, path)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := cache.Get(ctx, store, e.ID, 1<<30); err != nil || !bytes.Equal(text, bytes.Repeat([]byte("then"), want)) {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
	if clones != 1 {
		t.Errorf("%d clones", clones)
	}
}

// TestClone clones a file where the file system can.
func TestClone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("then"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	clone := checkpoint.Clone(dir, src)
	if clone == nil {
		t.Skip("the file system of TMPDIR has no clones; btrfs and xfs have")
	}
	defer clone.Close()
	if err := os.WriteFile(path, []byte("late"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(clone); err != nil || string(text) != "then" {
		t.Errorf("%q, %v", text, err)
	}
}
