// Package claim is the basis of runs that may outlive the process that started them:
// folders that only one live process can hold, and unique names of processes.
package claim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

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
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		c, err := tryTake(dir)
		if c != nil || err != nil {
			return c, err
		}
	}
}

// Lock creates and locks a file until it is closed. The error is ErrHeld if another process
// has locked it.
func Lock(name string) (*os.File, error) {
	f, err := nolink.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
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
	f, err := Lock(name)
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
