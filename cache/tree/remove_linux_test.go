package tree_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/tree"
)

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	must(t, os.Mkdir(outside, 0o755))
	must(t, os.WriteFile(outside+"/keep", nil, 0o644))
	ro := filepath.Join(dir, "ro")
	must(t, os.MkdirAll(ro+"/a/b", 0o755))
	must(t, os.WriteFile(ro+"/a/b/c", nil, 0o444))
	must(t, os.Symlink(outside, ro+"/link"))
	for _, d := range []string{"/a/b", "/a", ""} {
		must(t, os.Chmod(ro+d, 0o555))
	}
	must(t, tree.Remove(ro))
	must(t, tree.Remove(ro))
	if _, err := os.Stat(ro); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if info, err := os.Stat(outside + "/keep"); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("what a link leads to was touched: %v, %v", info, err)
	}
}

// TestRemoveDeep removes what os.RemoveAll cannot: folders in each other whose
// path is longer than the kernel takes.
func TestRemoveDeep(t *testing.T) {
	const depth = 30_000
	top := filepath.Join(memoryDir(t), "top")
	must(t, os.Mkdir(top, 0o700))
	dir, err := unix.Open(top, unix.O_DIRECTORY, 0)
	must(t, err)
	for i := range depth {
		name := fmt.Sprint(i % 7)
		must(t, unix.Mkdirat(dir, name, 0o700))
		below, err := unix.Openat(dir, name, unix.O_DIRECTORY, 0)
		must(t, err)
		must(t, unix.Close(dir))
		dir = below
	}
	must(t, unix.Mkdirat(dir, "last", 0))
	must(t, unix.Symlinkat("/", dir, "link"))
	must(t, unix.Mkfifoat(dir, "pipe", 0))
	file, err := unix.Openat(dir, "file", unix.O_CREAT|unix.O_WRONLY, 0)
	must(t, err)
	must(t, unix.Ftruncate(file, 1<<40))
	must(t, unix.Linkat(dir, "file", dir, "again", 0))
	must(t, errors.Join(unix.Close(file), unix.Close(dir)))
	bytes, err := tree.Measure(top)
	if err != nil || bytes < 1<<40 || bytes > 1<<40+1<<30 {
		t.Errorf("measured %d, %v, want a little more than 1 TiB", bytes, err)
	}
	must(t, tree.Remove(top))
	wantGone(t, top)
}

// TestRemoveWide removes more folders side by side than are held at a time.
func TestRemoveWide(t *testing.T) {
	top := filepath.Join(memoryDir(t), "top")
	for i := range 9000 {
		dir := filepath.Join(top, fmt.Sprint(i))
		must(t, os.MkdirAll(dir, 0o700))
		if i%3 > 0 {
			must(t, os.WriteFile(dir+"/x", nil, 0o600))
		}
	}
	must(t, tree.Remove(top))
	wantGone(t, top)
}

// TestRemoveImmutable removes files and folders that root made immutable.
func TestRemoveImmutable(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	must(t, os.MkdirAll(top+"/dir/inner", 0o700))
	must(t, os.WriteFile(top+"/dir/x", nil, 0o600))
	for _, name := range []string{"/dir/x", "/dir/inner", "/dir"} {
		f, err := os.Open(top + name)
		must(t, err)
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, unix.STATX_ATTR_IMMUTABLE)
		must(t, f.Close())
		if err != nil {
			must(t, tree.Remove(top))
			t.Skipf("nothing can be made immutable here: %v", err)
		}
	}
	if err := os.RemoveAll(top); err == nil {
		t.Error("nothing was immutable")
	}
	must(t, tree.Remove(top))
	wantGone(t, top)
}

// TestRemoveUnprivileged removes folders that their owner may not even search.
func TestRemoveUnprivileged(t *testing.T) {
	if top := os.Getenv("MLEFLOW_TEST_REMOVE"); top != "" {
		must(t, tree.Remove(top))
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	above := t.TempDir()
	top := filepath.Join(above, "top")
	for i := range 3 {
		must(t, os.MkdirAll(fmt.Sprintf("%s/%d/shut/inner/shut", top, i), 0o700))
		must(t, os.WriteFile(fmt.Sprintf("%s/%d/shut/inner/x", top, i), nil, 0))
	}
	must(t, filepath.WalkDir(filepath.Dir(above), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 65534, 65534))
	}))
	for i, mode := range []fs.FileMode{0, 0o111, 0o444} {
		for _, dir := range []string{"shut/inner/shut", "shut/inner", "shut", "."} {
			must(t, os.Chmod(fmt.Sprintf("%s/%d/%s", top, i, dir), mode))
		}
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestRemoveUnprivileged$")
	cmd.Dir, cmd.Env = "/", []string{"MLEFLOW_TEST_REMOVE=" + top}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantGone(t, top)
}

// TestRemoveWhatStays goes on after what it cannot remove, and says which.
func TestRemoveWhatStays(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	for i := range 5 {
		must(t, os.MkdirAll(fmt.Sprintf("%s/%d/inner", top, i), 0o700))
	}
	if err := unix.Mount("tmpfs", top+"/2/inner", "tmpfs", 0, ""); err != nil {
		must(t, tree.Remove(top))
		t.Skipf("nothing can be mounted here: %v", err)
	}
	must(t, os.WriteFile(top+"/2/inner/x", nil, 0o600))
	err := tree.Remove(top)
	_, there := os.Stat(top + "/2/inner/x")
	must(t, unix.Unmount(top+"/2/inner", 0))
	if err == nil || !strings.Contains(err.Error(), "inner") {
		t.Errorf("got %v, want what could not be removed", err)
	}
	if there != nil {
		t.Error("what is mounted there was emptied")
	}
	left, err := filepath.Glob(top + "/*")
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	must(t, tree.Remove(top))
	wantGone(t, top)
}

// memoryDir is a folder on a file system in memory, where there is one: disks may
// take a millisecond for each folder.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "mleflow-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, tree.Remove(dir)) })
	return dir
}

func wantGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

// TestRemoveTogether removes a tree in several goroutines at once: what one finds
// missing, another has removed.
func TestRemoveTogether(t *testing.T) {
	for range 100 {
		dir := filepath.Join(t.TempDir(), "tree")
		for i := range 20 {
			folder := filepath.Join(dir, fmt.Sprint(i%4), fmt.Sprint(i))
			if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "file"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := tree.Remove(dir); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("it is left (%v)", err)
		}
	}
}
