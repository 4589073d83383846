package executor

import (
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseOnExec closes this process's descriptors, from first on, in the programs that it
// starts.
func CloseOnExec(first int) {
	if unix.CloseRange(uint(first), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	list, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		for fd := first; fd < 1<<16; fd++ {
			unix.CloseOnExec(fd)
		}
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}
