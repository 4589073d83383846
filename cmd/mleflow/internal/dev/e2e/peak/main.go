// Command peak runs the program and arguments that it is given, and writes to
// file descriptor 3 the time and the processor time, in nanoseconds, and the
// memory, in KiB, that they took. Linux counts to the memory of a process what its
// parent had when it started it: this program has next to nothing.
package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

func main() {
	syscall.CloseOnExec(3)
	start := time.Now()
	p, err := os.StartProcess(os.Args[1], os.Args[2:], &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		println(err.Error())
		os.Exit(127)
	}
	state, err := p.Wait()
	if err != nil {
		println(err.Error())
		os.Exit(127)
	}
	var report []byte
	for _, n := range []int64{int64(time.Since(start)), int64(state.UserTime() + state.SystemTime()), state.SysUsage().(*syscall.Rusage).Maxrss} {
		report = append(strconv.AppendInt(report, n, 10), ' ')
	}
	if _, err := os.NewFile(3, "usage").Write(report); err != nil || !state.Success() {
		os.Exit(max(1, state.ExitCode()))
	}
}
