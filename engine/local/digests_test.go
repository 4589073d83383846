package local_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine/local"
)

// large writes a file that is worth remembering.
func large(t *testing.T, name string, fill byte) cache.Ref {
	t.Helper()
	text := bytes.Repeat([]byte{fill}, 1<<20)
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return cache.Ref{Kind: cache.Blob, ID: digest.Of(text), Size: 1 << 20}
}

// TestDigests are remembered until the file changes, unless the list is damaged.
func TestDigests(t *testing.T) {
	dir := t.TempDir()
	name, list := filepath.Join(dir, "large"), filepath.Join(dir, "list")
	content := large(t, name, 'a')
	// read asks new Digests and reports whether the file was read.
	ask := func(want cache.Ref) (read bool) {
		t.Helper()
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := local.NewDigests(list).Of(f, func() (cache.Ref, error) {
			read = true
			return cache.Put(context.Background(), cache.HashOnly{}, f, cache.Ref{})
		})
		if err != nil || got != want {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
		return read
	}
	settle := func(want cache.Ref) {
		t.Helper()
		for ask(want) {
			time.Sleep(20 * time.Millisecond) // a file that changed a moment ago is not remembered
		}
	}
	settle(content)
	known, err := os.ReadFile(list)
	if err != nil || !strings.HasSuffix(string(known), " "+content.ID.String()+"\n") {
		t.Fatalf("the list is %q, %v", known, err)
	}
	for _, damaged := range []string{"1" + string(known), string(known[:len(known)-2]), strings.Replace(string(known), " ", "", 1), " \n\n"} {
		if err := os.WriteFile(list, []byte(damaged), 0o644); err != nil {
			t.Fatal(err)
		}
		if !ask(content) {
			t.Errorf("%q was trusted", damaged)
		}
	}
	settle(content)
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	content = large(t, name, 'b')
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	settle(content)
}

// TestStoreDir reads a folder again only if something of it is not in the store.
func TestStoreDir(t *testing.T) {
	dir := folder(t, map[string]string{"f": "text", "d/g": "deep"})
	f, store := local.Folder(dir, nil, local.NewDigests("")), memory.New()
	a, err := f.Dir(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Local.Store(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := a.Local.Store(t.Context(), store); err != nil {
		t.Errorf("what is in the store was read again: %v", err)
	}
	lacking := memory.New()
	copied, err := store.Open(t.Context(), a.Ref.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if _, err := cache.Put(t.Context(), lacking, copied, cache.Ref{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Local.Store(t.Context(), lacking); err == nil || !strings.Contains(err.Error(), "changed after the plan") {
		t.Errorf("a folder of which files are missing: %v", err)
	}
}
