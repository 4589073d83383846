package sched

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/engine/internal/flock"
)

// DeviceLocks is a table of devices that the processes of a machine share: a
// folder with one file per device, which is locked while the device is leased.
// A slice of a device also takes a shared lock on the file of the whole device,
// so that nobody can lease the whole at the same time.
type DeviceLocks struct {
	mu    sync.Mutex
	files map[string]lockFiles
	held  map[string]bool
}

// lockFiles are the open files of a device. whole is nil unless it is a slice.
type lockFiles struct{ own, whole *os.File }

func (f lockFiles) close() {
	for _, file := range []*os.File{f.own, f.whole} {
		if file != nil {
			file.Close()
		}
	}
}

// LeasesVariable names the environment variable with the folder of the
// machine's table of leases.
const LeasesVariable = "MLEFLOW_LEASES"

// LeasesDir returns the folder of the table that all processes of the machine
// share, regardless of user and cache: the value of LeasesVariable, or a folder
// below /run/lock, or one in the temporary folder. env looks up a variable.
func LeasesDir(env func(string) string) string {
	if dir := env(LeasesVariable); dir != "" {
		return dir
	}
	if info, err := os.Stat("/run/lock"); err == nil && info.IsDir() {
		return "/run/lock/mleflow"
	}
	return filepath.Join(os.TempDir(), "mleflow-leases")
}

// OpenDeviceLocks opens the table in a folder for the given devices. It creates
// the folder if necessary. Processes respect each other's leases only if they
// use the same folder.
func OpenDeviceLocks(dir string, devices []string) (*DeviceLocks, error) {
	l := &DeviceLocks{files: map[string]lockFiles{}, held: map[string]bool{}}
	if err := makeShared(dir); err != nil {
		return nil, fmt.Errorf("open device locks: %w", err)
	}
	dir = nolink.Folder(dir)
	for _, name := range devices {
		f, err := openLocks(dir, name)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("open device locks: %w", err)
		}
		l.files[name] = f
	}
	return l, nil
}

// makeShared creates a folder in which every user may create files.
func makeShared(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.Chmod(dir, 0o777|os.ModeSticky) // regardless of the umask
}

func openLocks(dir, name string) (f lockFiles, err error) {
	if f.own, err = openLock(filepath.Join(dir, lockName(name))); err != nil {
		return f, err
	}
	if whole := wholeOf(name); whole != name {
		if f.whole, err = openLock(filepath.Join(dir, lockName(whole))); err != nil {
			f.close()
		}
	}
	return f, err
}

// wholeOf returns the device to which a slice belongs. It returns other devices
// unchanged.
func wholeOf(name string) string {
	kind, number, _ := strings.Cut(name, "=")
	if gpu, _, sliced := strings.Cut(number, ":"); sliced {
		return kind + "=" + gpu
	}
	return name
}

// openLock opens a lock file, which may belong to another user. Read access
// suffices for locking.
func openLock(path string) (*os.File, error) {
	f, err := nolink.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if errors.Is(err, fs.ErrPermission) {
		return nolink.Open(path)
	}
	return f, err
}

// lockName converts the name of a device to a unique file name.
func lockName(device string) string {
	return strings.NewReplacer("%", "%25", "/", "%2f", ":", "%3a").Replace(device) + ".lock"
}

// Close releases all locks of this process.
func (l *DeviceLocks) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		f.close()
	}
	clear(l.files)
}

// missing returns a device that is not in the table, or "".
func (l *DeviceLocks) missing(devices []string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range devices {
		if l.files[name].own == nil {
			return name
		}
	}
	return ""
}

// try locks a device unless this or another process has locked it.
func (l *DeviceLocks) try(name string) (unlock func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.files[name]
	if f.own == nil || l.held[name] {
		return nil, false
	}
	if ok, err := flock.Try(f.own); !ok || err != nil {
		return nil, false
	}
	if f.whole != nil {
		if ok, err := flock.TryShared(f.whole); !ok || err != nil {
			_ = flock.Unlock(f.own)
			return nil, false
		}
	}
	l.held[name] = true
	return func() { l.unlock(name) }, true
}

func (l *DeviceLocks) unlock(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, name)
	// Unlocking fails only if the file is closed, which also unlocks it.
	for _, f := range []*os.File{l.files[name].whole, l.files[name].own} {
		if f != nil {
			_ = flock.Unlock(f)
		}
	}
}
