package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
)

const mountVariable = "MLEFLOW_TEST_CACHE_MOUNT"

// TestRealFullDisk runs TestFullDiskChild in a mount namespace of its own,
// where it may mount a small file system. It is skipped where the machine
// does not let anybody make a namespace, which nothing else can replace;
// TestFullDisk injects the same errors everywhere.
func TestRealFullDisk(t *testing.T) {
	if !canUnnamed {
		t.Skip("without a lease there is no place for named files: what stores is refused")
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDiskChild$", "-test.v")
	cmd.Env = append(os.Environ(), mountVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) || strings.Contains(string(out), "cannot mount") {
		t.Skipf("no mount namespace on this machine: %v %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestFullDiskChild is the process of TestRealFullDisk, and does nothing on
// its own.
func TestFullDiskChild(t *testing.T) {
	dir := os.Getenv(mountVariable)
	if dir == "" {
		return
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		fmt.Println("cannot mount:", err)
		return
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	fillDisk(t, dir)
	openOnFullDisk(t, dir)
	openReadOnlyMount(t, dir)
	fewInodes(t, t.TempDir())
}

// fewInodes uses a file system without programs that has few inodes.
func fewInodes(t *testing.T, dir string) {
	must(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOEXEC, "nr_inodes=400"))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	list, err := Abilities(dir)
	must(t, err)
	for _, a := range list {
		if (a.Err != nil) != (a.Name == "programs" || a.Name == "reflinks") {
			t.Errorf("%s: %v", a.Name, a.Err)
		}
	}
	session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
		for n := 0; err == nil && n < 1000; n++ {
			_, err = cache.PutBytes(t.Context(), c, fmt.Append(nil, n))
		}
		if err == nil || !strings.Contains(err.Error(), "no inodes left") {
			t.Errorf("without inodes: %v", err)
		}
	})
}

// fillDisk stores until the disk is full.
func fillDisk(t *testing.T, dir string) {
	clk := &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		var err error
		n := 0
		for ; err == nil && n < 1000; n++ {
			var ref cache.Ref
			if ref, err = cache.PutBytes(t.Context(), c, []byte(strings.Repeat(fmt.Sprint(n), 20_000))); err == nil {
				err = c.Record(t.Context(), recordOf(fmt.Sprint(n), ref))
			}
		}
		wantErr(t, err, unix.ENOSPC)
		if !strings.Contains(err.Error(), "is full") {
			t.Errorf("error %q does not say so", err)
		}
		for i := range n - 1 {
			if !has(t, c, fmt.Sprint(i)) {
				t.Errorf("record %d is lost", i)
			}
		}
		checkIntact(t, c)
		wantCounted(t, c)
	})
}

// openOnFullDisk reads, and makes space, where no lease can be written.
func openOnFullDisk(t *testing.T, dir string) {
	onlyNamed(t, dir)
	rest, err := os.Create(dir + "/pins/rest") // take the last blocks
	must(t, err)
	for err == nil {
		_, err = rest.Write(make([]byte, 4096))
	}
	must(t, rest.Close())
	clk := &clock{}
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		if c.leases.lease.hold == nil {
			t.Error("the lease was written: the disk is not full")
		}
		if !has(t, c, "3") {
			t.Error("record 3 is missing")
		}
		in, err := c.Ingest(t.Context(), "key")
		must(t, err)
		_, err = in.Write(make([]byte, 1000))
		wantErr(t, err, unix.ENOSPC)
		must(t, in.Close())
		if left := entriesOf(t, c.path(ingestName)); len(left) > 0 {
			t.Errorf("the ingest left %q", left)
		}
		_, err = c.TempDir("x")
		if err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("TempDir: %v", err)
		}
		res, err := c.GC(t.Context(), GCOptions{MaxSize: 1_000_000})
		must(t, err)
		if len(res.Evicted) == 0 || !has(t, c, "3") {
			t.Errorf("evicted %d records; the used one is there: %v", len(res.Evicted), has(t, c, "3"))
		}
		record(t, c, "new", putText(t, c, "new"))
		checkIntact(t, c)
	})
}

// openReadOnlyMount finds out by itself that nothing can be written.
func openReadOnlyMount(t *testing.T, dir string) {
	must(t, poll(t.Context(), func() (bool, error) {
		runtime.GC() // a closed cache is unmapped once it is garbage
		err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, "size=4m")
		if errors.Is(err, unix.EBUSY) {
			return false, nil // a file is still open for writing, or mapped
		}
		return true, err
	}))
	c := openTest(t, dir, Options{}, hooks{unnamed: true})
	if !c.ReadOnly() || !has(t, c, "new") {
		t.Errorf("read-only: %v, record is there: %v", c.ReadOnly(), has(t, c, "new"))
	}
	_, err := c.Ingest(t.Context(), "")
	wantErr(t, err, cache.ErrReadOnly)
	rec, err := c.Lookup(t.Context(), actionOf("new"))
	must(t, err)
	must(t, closure(t, c, rec.Outputs["out0"].Ref))
	must(t, c.Close())
}

// onlyNamed waits until every inode of the file system at dir has a name. A closed
// cache is unmapped once it is garbage, and the kernel frees an unmapped file a moment
// later; until then its deleted lease takes a page of the disk.
func onlyNamed(t *testing.T, dir string) {
	t.Helper()
	must(t, poll(t.Context(), func() (bool, error) {
		runtime.GC()
		named := uint64(0)
		err := filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { named++; return nil })
		var disk unix.Statfs_t
		err = errors.Join(err, unix.Statfs(dir, &disk))
		return disk.Files-disk.Ffree == named, err
	}))
}
