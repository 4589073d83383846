package supervise

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// freezePatience is the time within which all processes must have stopped. One that
// waits for a disk stops only afterwards.
const freezePatience = 5 * time.Second

var errFreeze = errors.New("freeze command: its processes do not stop")

// Freeze stops the descendants of a process with SIGSTOP, however fast they fork. thaw
// lets those go on that Freeze stopped.
func Freeze(root int) (thaw func(), err error) {
	var stopped []proc
	thaw = func() { signalAll(stopped, syscall.SIGCONT) }
	seen := map[process]bool{}
	for until := time.Now().Add(freezePatience); time.Now().Before(until); time.Sleep(time.Millisecond) {
		still := true
		all := livingBelow(root)
		for _, p := range all {
			if id := (process{p.pid, p.start}); !seen[id] && !p.stopped {
				seen[id] = true
				p.signal(syscall.SIGSTOP)
				stopped = append(stopped, p)
			}
			still = still && (p.stopped || p.blocked && waits(p, all))
		}
		if still {
			return thaw, nil
		}
	}
	thaw()
	return nil, errFreeze
}

// waits reports whether a process may be in vfork: it runs again when its child has
// begun another program, and the child is stopped.
func waits(p proc, all []proc) bool {
	return slices.ContainsFunc(all, func(child proc) bool { return child.parent == p.pid && child.stopped })
}

// Thaw lets the descendants of a process go on that someone stopped who died since.
func Thaw(root int) {
	for _, p := range livingBelow(root) {
		if p.stopped {
			p.signal(syscall.SIGCONT)
		}
	}
}
