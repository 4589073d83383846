package agentrun_test

import (
	"os/exec"
	"syscall"
)

// mayMount reports whether this process may make mount namespaces and mount.
func mayMount() bool {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd.Run() == nil
}
