package supervise

import (
	"sync/atomic"
	"syscall"
	"time"
)

// Reaped counts the descendants of this process that have ended.
type Reaped struct{ n, cpu, maxRSS atomic.Int64 }

// End describes the end of a command.
type End struct {
	Status syscall.WaitStatus
	At     time.Time
}

// Reap reaps every descendant that ends, including orphans. It never waits for the
// receiver, because there may be thousands of them. The channel delivers the end of the
// command, a child of this process. It is closed when no descendant is left.
func (r *Reaped) Reap(command int) <-chan End {
	end := make(chan End, 1)
	go func() {
		defer close(end)
		for {
			var status syscall.WaitStatus
			var usage syscall.Rusage
			pid, err := syscall.Wait4(-1, &status, 0, &usage)
			if err == syscall.EINTR {
				continue
			}
			if err != nil {
				return
			}
			r.n.Add(1)
			r.cpu.Add(usage.Utime.Nano() + usage.Stime.Nano())
			r.maxRSS.Store(max(r.maxRSS.Load(), usage.Maxrss*1024))
			if pid == command {
				end <- End{status, time.Now()}
				command = 0 // its PID may be reused
			}
		}
	}()
	return end
}

// CPU returns the processor time of the ended descendants.
func (r *Reaped) CPU() time.Duration { return time.Duration(r.cpu.Load()) }

// Peak returns the peak memory of a command, in bytes: the largest sample, or for a command
// that is too short to be sampled the kernel's measurement. That includes the supervisor's
// own memory, until the command has replaced the program.
func (r *Reaped) Peak(sampled, own int64) int64 {
	if most := r.maxRSS.Load(); most > own || sampled == 0 {
		return max(sampled, most)
	}
	return sampled
}

// PeakBytes returns the peak memory of this process.
func PeakBytes() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Maxrss * 1024
}

// Ending returns how a command ended: why it was stopped, unless that is "", and its exit
// status with the signal that ended it.
func Ending(status syscall.WaitStatus, stopped Reason) (reason Reason, code, signal int) {
	reason, code = Exited, status.ExitStatus()
	if status.Signaled() {
		reason, signal = Signalled, int(status.Signal())
		code = 128 + signal
	}
	if stopped != "" {
		reason = stopped
	}
	return reason, code, signal
}
