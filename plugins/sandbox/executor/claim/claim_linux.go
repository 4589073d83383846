// Package claim is what runtimes know runs by that may outlive the process which
// started them: folders that one live process holds at a time, and names of
// processes that no other process ever has.
package claim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
)

// ErrHeld says that a live process holds a run or volume.
var ErrHeld = errors.New("a live process holds it")

// Claim is a folder that one live process holds: the kernel lets go of its lock
// when the process ends in whatever way.
type Claim struct {
	// Dir is the folder.
	Dir  string
	lock *os.File
}

// Take claims the folder, making it where it is missing.
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

// tryTake returns nothing when the folder was removed meanwhile.
func tryTake(dir string) (*Claim, error) {
	name := filepath.Join(dir, "lock")
	f, err := nolink.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
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
	mine, err := f.Stat()
	there, statErr := os.Stat(name)
	if err == nil && statErr == nil && os.SameFile(mine, there) {
		return &Claim{Dir: dir, lock: f}, nil
	}
	f.Close()
	return nil, err
}

// Drop lets go of the folder and leaves it.
func (c *Claim) Drop() error { return c.lock.Close() }

// Remove removes the folder and lets go of it.
func (c *Claim) Remove() error {
	return errors.Join(os.RemoveAll(c.Dir), c.lock.Close())
}

// Path is that of an entry of the folder.
func (c *Claim) Path(name string) string { return filepath.Join(c.Dir, name) }

// Save writes a value as JSON, whole or not at all.
func Save(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return nolink.WriteFile(name, text, 0o600, false)
}

// Load reads what Save wrote.
func Load(name string, v any) error {
	text, err := nolink.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// BootID names the time since the machine was started.
func BootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Self names this process among all of the machine, ended ones included.
func Self() string { return ProcessName(os.Getpid()) }

// ProcessName returns boot, process namespace, number and start time; "" when
// there is no such process.
func ProcessName(pid int) string {
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
	return fmt.Sprintf("%s %s %d %s", BootID(), namespace(), pid, fields[19])
}

func namespace() string {
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return ns
}

// Ended reports whether the process of that name has ended for certain: one of
// another process namespace cannot be seen.
func Ended(name string) bool {
	var boot, ns, start string
	var pid int
	if n, err := fmt.Sscan(name, &boot, &ns, &pid, &start); n != 4 || err != nil {
		return false
	}
	return boot != BootID() || ns == namespace() && ProcessName(pid) != name
}
