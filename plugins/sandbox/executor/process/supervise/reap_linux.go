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

// MaxRSS returns the largest peak memory of any of them, in bytes.
func (r *Reaped) MaxRSS() int64 { return r.maxRSS.Load() }
