//go:build !portable

package disk

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFoldersAreSpread sees that the file system is told so, where it can be.
func TestFoldersAreSpread(t *testing.T) {
	flags := func(dir string) int {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			t.Skip(err)
		}
		return flags
	}
	// Tests may have their folders in memory, where nothing is spread.
	probe, err := os.MkdirTemp("/var/tmp", "mleflow-spread-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(probe) })
	scatter(probe)
	if flags(probe)&topFolder == 0 {
		t.Skip("the file system of /var/tmp spreads no folders")
	}
	dir, err := openTest(t, filepath.Join(probe, "cache"), Options{}, hooks{}).TempDir("step")
	if err != nil {
		t.Fatal(err)
	}
	if flags(filepath.Dir(dir))&topFolder == 0 {
		t.Error("work folders are kept together")
	}
	if flags(filepath.Join(probe, "cache", tmpName))&topFolder == 0 {
		t.Error("the objects are not kept apart")
	}
}

// TestObjectsAreNotReplaced lets a second process make the cache that the first has
// opened: its folder of objects, still empty, stays.
func TestObjectsAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	spreadObjects(dir)
	first, err := os.Stat(filepath.Join(dir, objectsName))
	if err != nil {
		t.Fatal(err)
	}
	spreadObjects(dir)
	if second, err := os.Stat(filepath.Join(dir, objectsName)); err != nil || !os.SameFile(first, second) {
		t.Errorf("the folder is another one, %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, tmpName)); err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", tmpName, left, err)
	}
}
