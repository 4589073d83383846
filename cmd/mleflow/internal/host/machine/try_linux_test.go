package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
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

// refusedVariable makes this test program the one that is refused.
const refusedVariable = "MLEFLOW_TEST_REFUSED"

// TestSandboxRefused: where the kernel really refuses user namespaces, what is in the
// way is found, and nothing is left. The program is started in a user namespace of its
// own, in which it allows none below.
func TestSandboxRefused(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), refusedVariable+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("this machine has no user namespaces: %v", err)
	}
	if text := string(out); err != nil || !strings.Contains(text, "user.max_user_namespaces = 0 allows none") || !strings.Contains(text, "sysctl -w user.max_user_namespaces=") {
		t.Errorf("%v\n%s", err, out)
	}
}

// refused prints what is said of the sandbox where there can be none.
func refused(dir string) int {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println(err)
		return 1
	}
	m := Machine{Root: "/", Env: os.Getenv, Refused: func() []string { return nil }, Sandbox: func() executor.Availability { return TrySandbox("/proc/self/exe", dir) }}
	here := m.SandboxHere()
	fmt.Printf("%v %s\n%s\n", here.OK, here.Because, here.Fix)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || here.OK {
		fmt.Println(left, err)
		return 1
	}
	return 0
}
