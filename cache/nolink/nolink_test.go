package nolink_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/cache/nolink"
)

// TestForeign puts something else in the place of a file, or a link in the place of
// its folder: no call follows it, waits for it or makes a file elsewhere.
func TestForeign(t *testing.T) {
	dir := nolink.Folder(t.TempDir())
	outside := filepath.Join(dir, "outside")
	if err := errors.Join(os.Mkdir(outside, 0o755), os.WriteFile(filepath.Join(outside, "file"), []byte("canary"), 0o644)); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(path string) error{
		"Open":     func(path string) error { _, err := nolink.Open(path); return err },
		"Create":   func(path string) error { _, err := nolink.Create(path); return err },
		"ReadFile": func(path string) error { _, err := nolink.ReadFile(path); return err },
		"append": func(path string) error {
			_, err := nolink.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			return err
		},
	}
	for name, make := range map[string]func(string) error{
		"link":     func(path string) error { return os.Symlink(filepath.Join(outside, "file"), path) },
		"dangling": func(path string) error { return os.Symlink(filepath.Join(outside, "new"), path) },
		"pipe":     func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"folder":   func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		path := filepath.Join(dir, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		for call, do := range calls {
			if err := do(path); !errors.Is(err, nolink.ErrForeign) {
				t.Errorf("%s of a %s: %v", call, name, err)
			}
		}
		if err := nolink.WriteFile(path, []byte("new"), 0o600, true); (err == nil) == (name == "folder") {
			t.Errorf("WriteFile over a %s: %v", name, err)
		}
		if info, err := os.Lstat(path); err != nil || name != "folder" && (!info.Mode().IsRegular() || info.Mode().Perm() != 0o600) {
			t.Errorf("after WriteFile over a %s: %v, %v", name, info, err)
		}
	}
	linked := filepath.Join(dir, "linked")
	if err := os.Symlink(outside, linked); err != nil {
		t.Fatal(err)
	}
	for call, do := range calls {
		if err := do(filepath.Join(linked, "file")); !errors.Is(err, nolink.ErrForeign) {
			t.Errorf("%s by way of a link: %v", call, err)
		}
	}
	if err := nolink.WriteFile(filepath.Join(linked, "more"), nil, 0o600, false); !errors.Is(err, nolink.ErrForeign) {
		t.Errorf("WriteFile by way of a link: %v", err)
	}
	if err := nolink.Check(dir, "outside", "missing"); err != nil {
		t.Error(err)
	}
	if err := nolink.Check(dir, "linked"); !errors.Is(err, nolink.ErrForeign) {
		t.Errorf("Check of a link: %v", err)
	}
	if got := nolink.Folder(filepath.Join(linked, "not", "yet")); got != filepath.Join(outside, "not", "yet") {
		t.Errorf("Folder: %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(text) != "canary" {
		t.Errorf("outside: %q, %v", text, err)
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) != 1 {
		t.Errorf("outside: %v, %v", list, err)
	}
	if _, err := nolink.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// TestMkdirAllWhileRemoved makes a folder that another goroutine makes and removes all the
// time, and one in place of a link that leads nowhere.
func TestMkdirAllWhileRemoved(t *testing.T) {
	dir := t.TempDir()
	path, stop := filepath.Join(dir, "a"), make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Mkdir(path, 0o700)
				_ = os.Remove(path)
			}
		}
	})
	for range 20_000 {
		if err := nolink.MkdirAll(path, 0o700); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	other.Wait()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if err := nolink.MkdirAll(link, 0o700); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link: %v", err)
	}
}
