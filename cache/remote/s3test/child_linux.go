package s3test

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the server end when the test is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// processorTime returns the processor time of a process, or of this one for 0, by
// the clock that clock_getcpuclockid(3) names.
func processorTime(pid int) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(int32(^pid)<<3|2, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
