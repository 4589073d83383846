package cachetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
)

// TestKeeper checks a Keeper. Each call of open gives one without folders.
func TestKeeper(t *testing.T, open func(t *testing.T) cache.Keeper) {
	tests := []struct {
		name string
		run  func(t *testing.T, k cache.Keeper)
	}{
		{"kept until it is not", keepAndDrop},
		{"one holder at a time", keepTakesTurns},
		{"keys are only names", keepHostileKeys},
		{"list", keepList},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
	}
}

func keep(t *testing.T, k cache.Keeper, key string) (dir string, release func(keep bool)) {
	t.Helper()
	dir, done, err := k.Keep(t.Context(), key)
	if err != nil {
		t.Fatalf("Keep %q: %v", key, err)
	}
	t.Cleanup(func() { _ = done(false) })
	return dir, func(keep bool) {
		t.Helper()
		if err := done(keep); err != nil {
			t.Fatalf("release of %q: %v", key, err)
		}
	}
}

func keepAndDrop(t *testing.T, k cache.Keeper) {
	dir, release := keep(t, k, "agent")
	if err := os.WriteFile(filepath.Join(dir, "state"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	release(true)
	release(false) // does nothing any more
	again, release := keep(t, k, "agent")
	if data, err := os.ReadFile(filepath.Join(again, "state")); err != nil || string(data) != "text" {
		t.Fatalf("read %q, %v", data, err)
	}
	if err := os.Chmod(again, 0o500); err != nil { // as a finished tree is
		t.Fatal(err)
	}
	release(false)
	if _, err := os.Lstat(again); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	fresh, release := keep(t, k, "agent")
	if list, err := os.ReadDir(fresh); err != nil || len(list) != 0 {
		t.Errorf("a new folder holds %v, %v", list, err)
	}
	release(false)
}

func keepTakesTurns(t *testing.T, k cache.Keeper) {
	_, release := keep(t, k, "agent")
	keep(t, k, "another") // does not wait
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, done, err := k.Keep(ctx, "agent"); err == nil {
		_ = done(true)
		t.Fatal("two hold one folder")
	}
	got, waits := make(chan error, 1), newWaiting(t.Context())
	go func() {
		dir, done, err := k.Keep(waits, "agent")
		if err == nil {
			_, err = os.Stat(dir) // the first has removed it
			err = errors.Join(err, done(false))
		}
		got <- err
	}()
	<-waits.begun
	release(false)
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// keepHostileKeys uses keys that would escape the folder if they were used as
// paths.
func keepHostileKeys(t *testing.T, k cache.Keeper) {
	plain, _ := keep(t, k, "plain")
	home := filepath.Dir(plain)
	seen := make(map[string]string)
	for _, key := range []string{"", ".", "..", "/", "../../x", "/etc/passwd", "a/b", "a", "A", "a\x00b", "a\nb", "-rf", "plain.key", "con", strings.Repeat("long ", 500)} {
		dir, release := keep(t, k, key)
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || filepath.Dir(dir) != home {
			t.Errorf("key %q: folder %s is not in %s", key, dir, home)
		}
		if other, ok := seen[dir]; ok {
			t.Errorf("keys %q and %q share %s", key, other, dir)
		}
		seen[dir] = key
		release(true)
	}
}

func keepList(t *testing.T, k cache.Keeper) {
	if list, err := k.Kept(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("Kept = %v, %v", list, err)
	}
	var want []cache.Kept
	for i := range 3 {
		key := fmt.Sprint("agent/", i)
		dir, release := keep(t, k, key)
		if i != 1 {
			release(true)
		}
		want = append(want, cache.Kept{Key: key, Dir: dir, Held: i == 1})
	}
	_, release := keep(t, k, "gone")
	release(false)
	got, err := k.Kept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Kept (-want +got):\n%s", diff)
	}
}
