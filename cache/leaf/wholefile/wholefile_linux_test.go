package wholefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
)

// TestForeignFile replaces another user's file in a folder such as /tmp, who would read
// what is written into it. Only root can make one.
func TestForeignFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	dir, err := os.MkdirTemp("/tmp", "wholefile-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "report.html")
	err = errors.Join(os.WriteFile(path, []byte("trap"), 0o600), os.Chmod(path, 0o666), os.Chown(path, 54321, 54321), os.Chmod(dir, 0o777|os.ModeSticky)) //nolint:gosec // the trap
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		done <- wholefile.Replace(path, wholefile.Bytes([]byte("secret")))
	}()
	if err := <-done; err == nil || read(t, path) != "trap" {
		t.Errorf("%v, and the file holds %q", err, read(t, path))
	}
	alone(t, dir, "report.html")
}
