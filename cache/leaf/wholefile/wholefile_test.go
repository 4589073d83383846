package wholefile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
)

var errBroken = errors.New("broken")

// broken writes half of a text.
func broken(w io.Writer) error {
	_, err := io.WriteString(w, strings.Repeat("half ", 100_000))
	return errors.Join(err, errBroken)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// alone checks that a folder holds only these names.
func alone(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := wholefile.Create(path, 0o640, broken); !errors.Is(err, errBroken) {
		t.Errorf("a write that fails gives %v", err)
	}
	alone(t, dir)
	if err := wholefile.Create(path, 0o640, wholefile.Bytes([]byte("first"))); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Create(path, 0o640, broken); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second file gives %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&^0o640 != 0 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	alone(t, dir, "a.json")
	if got := read(t, path); got != "first" {
		t.Errorf("the file holds %q", got)
	}
}

// TestCreateAtOnce lets several take one name while the others write.
func TestCreateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	var ready, done sync.WaitGroup
	errs := make([]error, 8)
	ready.Add(len(errs))
	for i := range errs {
		done.Go(func() {
			errs[i] = wholefile.Create(path, 0o666, func(w io.Writer) error {
				ready.Done()
				ready.Wait()
				_, err := w.Write([]byte{byte('0' + i)})
				return err
			})
		})
	}
	done.Wait()
	for i, err := range errs {
		won := read(t, path) == string(rune('0'+i))
		if won != (err == nil) || !won && !errors.Is(err, fs.ErrExist) {
			t.Errorf("writer %d: %v, and the file holds %q", i, err, read(t, path))
		}
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a.html"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o604), os.Chmod(path, 0o604), os.Symlink("a.html", link)); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Replace(link, broken); !errors.Is(err, errBroken) {
		t.Errorf("a write that fails gives %v", err)
	}
	if got := read(t, path); got != "old" {
		t.Errorf("a write that fails leaves %q", got)
	}
	if err := wholefile.Replace(link, wholefile.Bytes([]byte("new"))); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o604 || read(t, path) != "new" {
		t.Errorf("the target is %v, %v, and holds %q", info.Mode(), err, read(t, path))
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	alone(t, dir, "a.html", "link")
}

// TestReplacePlaces covers paths that cannot be replaced.
func TestReplacePlaces(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		text, _ := os.ReadFile(pipe)
		got <- string(text)
	}()
	if err := wholefile.Replace(pipe, wholefile.Bytes([]byte("through"))); err != nil || <-got != "through" {
		t.Errorf("pipe: %v", err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink("target", dangling); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Replace(dangling, wholefile.Bytes([]byte("x"))); err != nil || read(t, filepath.Join(dir, "target")) != "x" {
		t.Errorf("dangling link: %v", err)
	}
	if os.Geteuid() != 0 {
		closed := filepath.Join(dir, "closed")
		file := filepath.Join(closed, "a")
		if err := errors.Join(os.Mkdir(closed, 0o700), os.WriteFile(file, []byte("old"), 0o600), os.Chmod(closed, 0o500)); err != nil {
			t.Fatal(err)
		}
		if err := wholefile.Replace(file, wholefile.Bytes([]byte("new"))); err != nil || read(t, file) != "new" {
			t.Errorf("file in a folder that cannot be written: %v", err)
		}
		if err := os.Chmod(closed, 0o700); err != nil { // so that it can be removed
			t.Fatal(err)
		}
	}
	missing := filepath.Join(dir, "none", "a.html")
	if err := wholefile.Replace(missing, broken); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("missing folder: %v", err)
	}
	if err := wholefile.Replace(dir, broken); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("folder: %v", err)
	}
}

// TestForeignLink replaces a file through a link of another user's, which only root can
// make, and through root's.
func TestForeignLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, []byte("kept"), 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Replace(link, wholefile.Bytes([]byte("own"))); err != nil || read(t, target) != "own" {
		t.Fatalf("an own link: %v, %q", err, read(t, target))
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Lchown(link, 54321, 54321); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Replace(link, wholefile.Bytes([]byte("another"))); err == nil || read(t, target) != "own" {
		t.Errorf("another user's link: %v, %q", err, read(t, target))
	}
}
