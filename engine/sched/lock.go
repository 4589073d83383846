package sched

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/engine/internal/flock"
)

// DeviceLocks is a table of devices that the processes of a machine share: a
// folder with one file for each device, locked while the device is leased.
type DeviceLocks struct {
	mu    sync.Mutex
	files map[string]*os.File
	held  map[string]bool
}

// OpenDeviceLocks opens the table of the folder, which is made if it is
// missing, for the given devices. Processes share devices only if they use
// the same folder.
func OpenDeviceLocks(dir string, devices []string) (*DeviceLocks, error) {
	l := &DeviceLocks{files: map[string]*os.File{}, held: map[string]bool{}}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("open device locks: %w", err)
	}
	for _, name := range devices {
		f, err := openLock(filepath.Join(dir, lockName(name)))
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("open device locks: %w", err)
		}
		l.files[name] = f
	}
	return l, nil
}

// openLock opens a lock file that may belong to somebody else: for a lock,
// reading suffices.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if os.IsPermission(err) {
		return os.Open(path)
	}
	return f, err
}

// lockName turns the name of a device into that of a file, keeping different
// names different.
func lockName(device string) string {
	return strings.NewReplacer("%", "%25", "/", "%2f", ":", "%3a").Replace(device) + ".lock"
}

// Close ends all locks of this process.
func (l *DeviceLocks) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		f.Close()
	}
	clear(l.files)
}

// missing returns a device that the table lacks, or "".
func (l *DeviceLocks) missing(devices []string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range devices {
		if l.files[name] == nil {
			return name
		}
	}
	return ""
}

// try locks a device, unless it is locked by this or another process.
func (l *DeviceLocks) try(name string) (unlock func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.files[name]
	if f == nil || l.held[name] {
		return nil, false
	}
	if ok, err := flock.Try(f); !ok || err != nil {
		return nil, false
	}
	l.held[name] = true
	return func() { l.unlock(name) }, true
}

func (l *DeviceLocks) unlock(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, name)
	if f := l.files[name]; f != nil {
		// An unlocked file stays locked only if the file is closed, which
		// unlocks it.
		_ = flock.Unlock(f)
	}
}
