package sandbox_test

import (
	"os/exec"
	"syscall"
	"testing"
)

// needNamespaces skips a test where the kernel lets this user have no namespaces.
func needNamespaces(t testing.TB) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run", "^$")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if err := cmd.Run(); err != nil {
		t.Skipf("the kernel refuses user namespaces: %v", err)
	}
}
