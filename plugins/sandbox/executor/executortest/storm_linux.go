package executortest

import (
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// probeStorm starts a number of children that sleep forever, prints how many it could
// start, and sleeps too. The children are forked copies of this process, in which no Go
// code may run, because starting a program for each would take too long.
func probeStorm(args []string) int {
	n, _ := strconv.Atoi(args[0])
	runtime.LockOSThread()
	hour, started := syscall.Timespec{Sec: 3600}, 0
	for ; started < n; started++ {
		switch pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); {
		case errno != 0:
			n = started
		case pid == 0:
			for {
				syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&hour)), 0, 0)
			}
		}
	}
	fmt.Println("children", started)
	time.Sleep(time.Hour)
	return 0
}
