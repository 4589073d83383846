package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTrySandbox runs a program in a sandbox, on a machine that lets users have
// namespaces, and leaves nothing.
func TestTrySandbox(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	here := TrySandbox(self, filepath.Join(dir, "not", "there"))
	if _, err := os.Stat("/proc/self/ns/user"); err != nil || os.Getenv("CI") == "" && !here.OK {
		t.Skipf("this machine has no sandbox: %s", here.Because)
	}
	if !here.OK {
		t.Error(here.Because)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if here := TrySandbox("/no/such/program", dir); here.OK || here.Because == "" {
		t.Errorf("%+v", here)
	}
}
