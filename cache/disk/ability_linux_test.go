package disk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

func TestAbilities(t *testing.T) {
	dir := t.TempDir()
	list, err := Abilities(dir)
	must(t, err)
	for _, a := range list {
		if a.Fatal() {
			t.Errorf("%s: %v", a.Name, a.Err)
		}
	}
	if got := entriesOf(t, dir); len(got) != 0 {
		t.Errorf("it left %q", got)
	}
	if _, err := Abilities(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is missing has abilities")
	}
}

// TestQuotaOfFiles stores more than the user's quota on the disk.
func TestQuotaOfFiles(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true, write: func(*os.File, []byte) (int, error) { return 0, unix.EDQUOT }})
	_, err := cache.PutBytes(t.Context(), c, []byte("text"))
	if err == nil || !strings.Contains(err.Error(), "your quota on the disk") || strings.Contains(err.Error(), "is full") {
		t.Errorf("got %v", err)
	}
}

const refusedVariable = "MLEFLOW_TEST_CACHE_REFUSED"

// refusals are system calls that some file systems refuse. lack is the ability that is
// missing then, and fatal is true if no cache can be opened.
var refusals = []struct {
	call  uint32
	errno unix.Errno
	lack  string
	fatal bool
}{
	{unix.SYS_FLOCK, unix.ENOSYS, "file locks", true},
	{unix.SYS_FLOCK, unix.ENOLCK, "file locks", true},
	{unix.SYS_FSYNC, unix.EINVAL, "fsync", true},
	{unix.SYS_LINKAT, unix.EPERM, "links", false},
	{unix.SYS_LINKAT, unix.EOPNOTSUPP, "links", false},
	{unix.SYS_LINKAT, unix.EXDEV, "links", false},
}

// TestRefused runs TestRefusedChild, in a process for each refusal.
func TestRefused(t *testing.T) {
	for i, r := range refusals {
		t.Run(fmt.Sprintf("%s %v", r.lack, r.errno), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestRefusedChild$", "-test.v")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", refusedVariable, i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			} else if strings.Contains(string(out), "no filter") {
				t.Skipf("%s", out)
			}
		})
	}
}

// TestRefusedChild is the process of TestRefused, and does nothing on its own.
func TestRefusedChild(t *testing.T) {
	n := 0
	if _, err := fmt.Sscan(os.Getenv(refusedVariable), &n); err != nil {
		return
	}
	r, old := refusals[n], t.TempDir()
	session(t, old, Options{}, hooks{unnamed: true}, func(c *Cache) { putText(t, c, "before") })
	if err := refuse(r.call, r.errno); err != nil {
		fmt.Println("no filter:", err)
		return
	}
	list, err := Abilities(t.TempDir())
	must(t, err)
	for _, a := range list {
		if a.Name == r.lack && (a.Err == nil || a.Fatal() != r.fatal) || a.Fatal() && a.Name != r.lack {
			t.Errorf("%s: %v", a.Name, a.Err)
		}
	}
	for _, dir := range []string{t.TempDir(), old} {
		if !r.fatal {
			useRefused(t, dir)
			continue
		}
		c, err := Open(dir, Options{})
		if c != nil && dir == old && r.call == unix.SYS_FSYNC {
			_ = c.Close() // nothing was synced yet
			continue
		}
		if err == nil || strings.Count(err.Error(), "lacks "+r.lack) != 1 || strings.Contains(err.Error(), "not a cache") {
			t.Errorf("Open: %v", err)
		}
	}
}

// useRefused stores, exports and collects as usual.
func useRefused(t *testing.T, dir string) {
	session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
		ref := putTree(t, c, "x", 20)
		record(t, c, "x", ref)
		in, err := c.Ingest(t.Context(), "key")
		must(t, err)
		_, err = in.Write([]byte("keyed"))
		must(t, err)
		_, err = in.Commit(t.Context(), cache.Ref{})
		must(t, err)
		out := filepath.Join(t.TempDir(), "out")
		_, err = tree.Materialise(t.Context(), c, ref, out, tree.Options{})
		must(t, err)
		must(t, tree.Remove(out))
		must(t, closure(t, c, ref))
		wantVerified(t, c)
		wantCounted(t, c)
	})
}

// refuse makes a system call fail from now on, in all threads of this process.
func refuse(call uint32, errno unix.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if e != 0 {
		return e
	}
	return nil
}
