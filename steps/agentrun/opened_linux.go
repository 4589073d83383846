package agentrun

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openWatch collects the names of opened files, by inotify. A file is the same through
// every mount, so that it sees what happens inside a sandbox.
type openWatch struct {
	fd int
	// events is fd for the runtime's poller.
	events *os.File
	// folders are the names of the watched folders, by watch.
	folders map[int32]string
}

func newOpenWatch() (*openWatch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &openWatch{fd, os.NewFile(uintptr(fd), "inotify"), map[int32]string{}}, nil //nolint:gosec // a descriptor is not negative
}

// add watches a folder, not those below it.
func (w *openWatch) add(dir, name string) error {
	id, err := unix.InotifyAddWatch(w.fd, dir, unix.IN_OPEN|unix.IN_ONLYDIR)
	if err == nil {
		w.folders[int32(id)] = name //nolint:gosec // the kernel's numbers are of this size
	}
	return err
}

// run reads events until seen is called, which returns the names of the opened files.
func (w *openWatch) run() (seen func() map[string]bool) {
	opened, done := map[string]bool{}, make(chan struct{})
	buf := make([]byte, 64<<10)
	go func() {
		defer close(done)
		for {
			n, err := w.events.Read(buf)
			if err != nil {
				return
			}
			w.note(opened, buf[:n])
		}
	}()
	return func() map[string]bool {
		_ = w.events.SetReadDeadline(time.Unix(1, 0))
		<-done
		for { // the events that the deadline left
			n, err := unix.Read(w.fd, buf)
			if err != nil || n <= 0 {
				break
			}
			w.note(opened, buf[:n])
		}
		_ = w.events.Close()
		return opened
	}
}

// inode returns the number of a file.
func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// note enters the files of a series of events.
func (w *openWatch) note(opened map[string]bool, events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		id := int32(binary.NativeEndian.Uint32(events)) //nolint:gosec // the kernel's numbers are of this size
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := strings.TrimRight(string(events[unix.SizeofInotifyEvent:end]), "\x00")
		if folder, ok := w.folders[id]; ok && name != "" {
			opened[path.Join(folder, name)] = true
		}
		events = events[end:]
	}
}
