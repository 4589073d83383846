package cli

import (
	"fmt"
	"os/exec"
	"syscall"
)

const canConfine = true

// limitMemory bounds the memory of this process.
func limitMemory(bytes int64) error {
	limit := syscall.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &limit); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	return nil
}

// confine has a process get no signals of the terminal, and die with this one.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
