package e2e

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of processes whose parent ends before them,
// as mleflow ends before its idle supervisors.
func adoptOrphans(b *testing.B) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		b.Fatal(err)
	}
}

// orphans waits for the processes that a command left behind, and returns their
// processor time, which the command's own leaves out.
func orphans(b *testing.B) (spent time.Duration) {
	for {
		var usage unix.Rusage
		_, err := unix.Wait4(-1, nil, 0, &usage)
		switch {
		case errors.Is(err, unix.ECHILD):
			return spent
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			b.Fatal(err)
		}
		spent += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
}
