package proof

import (
	"fmt"
	"os/exec"
	"syscall"
)

const canConfine = true

// limitMemory bounds the memory of this process. Those that it starts may set
// limits of their own.
func limitMemory(bytes int64) error {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_DATA, &limit)
	if limit.Cur = min(uint64(bytes), limit.Max); err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_DATA, &limit)
	}
	if err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	return nil
}

// confine has a process get no signals of the terminal, and die with this one.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
