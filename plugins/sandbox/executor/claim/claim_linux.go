// Package claim is the basis of runs that may outlive the process that started them:
// folders that only one live process can hold, and unique names of processes.
package claim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
)

// ErrHeld means that a live process holds a run or volume.
var ErrHeld = errors.New("a live process holds it")

// Claim is a folder that one live process holds. The kernel releases its lock when the
// process ends, however it ends.
type Claim struct {
	// Dir is the folder.
	Dir  string
	lock *os.File
}

// Take claims the folder. It creates the folder if it does not exist.
func Take(dir string) (*Claim, error) {
	for {
		if err := nolink.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		c, err := tryTake(dir)
		if c != nil || err != nil {
			return c, err
		}
	}
}

// patience is how long Await waits for a folder that another process holds.
const patience = 5 * time.Second

// Await claims the folder as Take does, and waits for up to five seconds while it is held:
// a sweep holds what it looks at, and a child that a killed owner was about to start holds
// the owner's lock until it has become another program or ended.
func Await(ctx context.Context, dir string) (*Claim, error) {
	for until := time.Now().Add(patience); ; {
		c, err := Take(dir)
		if !errors.Is(err, ErrHeld) || time.Now().After(until) {
			return c, err
		}
		if err := progress.Sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// Lock creates a file with this mode and locks it until it is closed. The error is ErrHeld if another process
// has locked it.
func Lock(name string, mode os.FileMode) (*os.File, error) {
	f, err := nolink.OpenFile(name, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrHeld
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

// tryTake returns nil if the folder was removed meanwhile.
func tryTake(dir string) (*Claim, error) {
	name := filepath.Join(dir, "lock")
	f, err := Lock(name, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mine, err := f.Stat()
	there, statErr := os.Stat(name)
	if err == nil && statErr == nil && os.SameFile(mine, there) {
		return &Claim{Dir: dir, lock: f}, nil
	}
	f.Close()
	return nil, err
}

// Drop releases the folder and keeps it.
func (c *Claim) Drop() error { return c.lock.Close() }

// Remove removes the folder and releases it.
func (c *Claim) Remove() error {
	return errors.Join(os.RemoveAll(c.Dir), c.lock.Close())
}

// Path returns the path of an entry of the folder.
func (c *Claim) Path(name string) string { return filepath.Join(c.Dir, name) }

// Self is the name of this process, unique among all processes of the machine,
// including ended ones.
func Self() string { return ProcessName(os.Getpid()) }

// ProcessName consists of the boot, the process namespace, the PID and the start time.
// It is "" if there is no such process, or one that has ended and whose parent does not
// ask for its status.
func ProcessName(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field, the program's name in brackets, may contain spaces and
	// brackets.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fmt.Sprintf("%s %s %d %s", BootID(), namespace(), pid, fields[19])
}

func namespace() string {
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return ns
}

// Dead is Ended for a process that ran on this machine since its last boot.
func Dead(name string) bool { return strings.HasPrefix(name, BootID()+" ") && Ended(name) }

// Ended reports whether the process with that name has certainly ended. Processes of
// other process namespaces cannot be seen.
func Ended(name string) bool {
	var boot, ns, start string
	var pid int
	if n, err := fmt.Sscan(name, &boot, &ns, &pid, &start); n != 4 || err != nil {
		return false
	}
	return boot != BootID() || ns == namespace() && ProcessName(pid) != name
}

// Run is the information about a run of any runtime that a later process needs. The
// records of runtimes embed it.
type Run struct {
	// ID is Spec.ID.
	ID      string        `json:"id"`
	Boot    string        `json:"boot"`
	Started time.Time     `json:"started"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Grace   time.Duration `json:"grace"`
}

// keepAfter is the time for which a command of a dead process can be resumed. It begins
// at the command's time limit or, if there is none, at its start.
const keepAfter = 24 * time.Hour

// ThisBoot reports whether the machine has not been restarted since the run began.
func (r Run) ThisBoot() bool { return r.Boot == BootID() }

// Deadline is the end of the run's time limit; the zero time is no limit.
func (r Run) Deadline() time.Time {
	if r.Timeout == 0 {
		return time.Time{}
	}
	return r.Started.Add(r.Timeout)
}

// Waits reports whether a dead process's run may still be resumed.
func (r Run) Waits() bool {
	return r.ThisBoot() && time.Now().Before(r.Started.Add(r.Timeout+r.Grace+keepAfter))
}

// Sweep removes a folder that no live process holds, after tidy has removed what the
// folder describes, unless tidy says that it must stay.
func Sweep(dir string, tidy func() (stays bool, err error)) error {
	held, err := Take(dir)
	if errors.Is(err, ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	if stays, err := tidy(); stays || err != nil {
		return errors.Join(err, held.Drop())
	}
	return held.Remove()
}

// SweepAll calls sweep for each folder below dir and names those at which it fails.
func SweepAll(dir string, sweep func(dir string) error) error {
	dirs, err := filepath.Glob(filepath.Join(dir, "*"))
	errs := []error{err}
	for _, dir := range dirs {
		if err := sweep(dir); err != nil {
			errs = append(errs, fmt.Errorf("sweep %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}
