package containerd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// errHeld says that a live process holds a run or volume.
var errHeld = errors.New("a live process holds it")

// claim is a folder that one live process holds: the kernel lets go of its lock
// when the process ends in whatever way.
type claim struct {
	dir  string
	lock *os.File
}

// take claims the folder, making it where it is missing.
func take(dir string) (*claim, error) {
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

// tryTake returns nothing when the folder was removed meanwhile.
func tryTake(dir string) (*claim, error) {
	name := filepath.Join(dir, "lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	mine, err := f.Stat()
	there, statErr := os.Stat(name)
	if err == nil && statErr == nil && os.SameFile(mine, there) {
		return &claim{dir: dir, lock: f}, nil
	}
	f.Close()
	return nil, err
}

// drop lets go of the folder and leaves it.
func (c *claim) drop() error { return c.lock.Close() }

// remove removes the folder and lets go of it.
func (c *claim) remove() error {
	err := dropViews(c.dir)
	if err == nil {
		err = os.RemoveAll(c.dir)
	}
	return errors.Join(err, c.lock.Close())
}

func (c *claim) path(name string) string { return filepath.Join(c.dir, name) }

// record is what a later process must know of a run.
type record struct {
	// ID is Spec.ID.
	ID       string        `json:"id"`
	Resume   bool          `json:"resume,omitempty"`
	Boot     string        `json:"boot"`
	Started  time.Time     `json:"started"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	Grace    time.Duration `json:"grace"`
	LogBytes int64         `json:"log_bytes,omitempty"`
	// Socket, Namespace and Container lead to the container.
	Socket    string `json:"socket"`
	Namespace string `json:"namespace"`
	Container string `json:"container"`
	// Ports are those of the services, in order.
	Ports []int `json:"ports,omitempty"`
}

// deadline is when the run's time is up; the zero time is never.
func (r record) deadline() time.Time {
	if r.Timeout == 0 {
		return time.Time{}
	}
	return r.Started.Add(r.Timeout)
}

// resumable reports whether the command was started since the machine was.
func (r record) resumable() bool { return r.Boot == bootID() && !r.Started.IsZero() }

const recordFile = "run.json"

func (r record) save(dir string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, recordFile), text, 0o600)
}

func loadRecord(dir string) (record, error) {
	var r record
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", filepath.Join(dir, recordFile), err)
	}
	return r, nil
}

// bootID names the time since the machine was started.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// self names this process among all of the machine, ended ones included.
func self() string { return processName(os.Getpid()) }

// processName returns boot, process namespace, number and start time; "" when
// there is no such process.
func processName(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field, the program's name, is in brackets and may hold both.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return ""
	}
	return fmt.Sprintf("%s %s %d %s", bootID(), processNamespace(), pid, fields[19])
}

func processNamespace() string {
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return ns
}

// processEnded reports whether the process of that name has ended for certain: one of
// another process namespace cannot be seen.
func processEnded(name string) bool {
	var boot, ns, start string
	var pid int
	if n, err := fmt.Sscan(name, &boot, &ns, &pid, &start); n != 4 || err != nil {
		return false
	}
	return boot != bootID() || ns == processNamespace() && processName(pid) != name
}
