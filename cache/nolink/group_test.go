package nolink_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/cache/nolink"
)

// TestGroup makes files and folders of all kinds in a shared folder under several umasks:
// the group has the owner's rights to all but what was asked to be private.
func TestGroup(t *testing.T) {
	for _, umask := range []int{0o077, 0o022, 0o027, 0o007} {
		dir := shared(t)
		old := syscall.Umask(umask)
		err := errors.Join(
			nolink.MkdirAll(filepath.Join(dir, "a", "b"), 0o755), nolink.Mkdir(filepath.Join(dir, "private"), 0o700),
			nolink.WriteFile(filepath.Join(dir, "a", "b", "file"), []byte("x"), 0o644, false),
			nolink.WriteFile(filepath.Join(dir, "key"), []byte("x"), 0o600, false),
			opened(filepath.Join(dir, "a", "log"), 0o666), opened(filepath.Join(dir, "a", "secret"), 0o600),
		)
		work, tempErr := nolink.MkdirTemp(dir, "w", 0o755)
		syscall.Umask(old)
		if err := errors.Join(err, tempErr); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]fs.FileMode{
			"a": 0o070, "a/b": 0o070, filepath.Base(work): 0o070, "private": 0, "a/b/file": 0o060, "key": 0, "a/log": 0o060, "a/secret": 0,
		} {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm() & 0o070; got != want || want == 0o070 && !nolink.IsShared(info.Mode()) {
				t.Errorf("umask %03o, %s: %v, want the group to have %03o", umask, name, info.Mode(), want)
			}
		}
	}
}

// TestNoGroup makes the same in a folder that is not shared, and leaves what it did not
// make, such as a private file that another moved to a name that is to be opened.
func TestNoGroup(t *testing.T) {
	dir := nolink.Folder(t.TempDir())
	defer syscall.Umask(syscall.Umask(0o022))
	err := errors.Join(nolink.Mkdir(filepath.Join(dir, "a"), 0o777), opened(filepath.Join(dir, "b"), 0o666))
	in := shared(t)
	key := filepath.Join(in, "key")
	err = errors.Join(err, os.WriteFile(key, []byte("secret"), 0o600), opened(key, 0o666))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{filepath.Join(dir, "a"): 0o755, filepath.Join(dir, "b"): 0o644, key: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func shared(t *testing.T) string {
	dir := nolink.Folder(t.TempDir())
	if err := os.Chmod(dir, 0o770|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	return dir
}

func opened(path string, mode fs.FileMode) error {
	f, err := nolink.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return err
	}
	return f.Close()
}
