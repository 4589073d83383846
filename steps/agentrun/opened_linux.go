package agentrun

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// openWatch collects the names of opened files, by inotify. A file is the same through
// every mount, so that it sees what happens inside a sandbox.
type openWatch struct {
	fd int
	// events is fd for the runtime's poller.
	events *os.File
	began  time.Time
	// seen has the time after began at which a file was first opened, by watch and name.
	seen map[int32]map[string]time.Duration
	// lost means that events were lost. looks counts the reads of run.
	lost  bool
	looks int
	buf   []byte
}

func newOpenWatch() (*openWatch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	//nolint:gosec // a descriptor is not negative
	return &openWatch{fd: fd, events: os.NewFile(uintptr(fd), "inotify"), began: time.Now(), seen: map[int32]map[string]time.Duration{}, buf: make([]byte, 1<<20)}, nil
}

// add watches a folder, not those below it, and returns the number of the watch.
func (w *openWatch) add(dir string) (int32, error) {
	id, err := unix.InotifyAddWatch(w.fd, dir, unix.IN_OPEN|unix.IN_ONLYDIR)
	if err == nil {
		w.seen[int32(id)] = map[string]time.Duration{} //nolint:gosec // the kernel's numbers are of this size
	}
	return int32(id), err //nolint:gosec // the kernel's numbers are of this size
}

// run notes events until ctx ends. It pauses in between, so that an agent that opens files
// all the time costs little: at most one part in openRest of a processor.
func (w *openWatch) run(ctx context.Context) {
	for {
		n, err := w.events.Read(w.buf)
		if err != nil {
			return
		}
		w.looks++
		began := time.Now()
		w.note(w.buf[:n], began.Sub(w.began))
		if progress.Sleep(ctx, max(openPause, openRest*time.Since(began))) != nil {
			return
		}
	}
}

// interrupt ends the wait for events.
func (w *openWatch) interrupt() { _ = w.events.SetReadDeadline(time.Unix(1, 0)) }

// finish notes the events that are left, and closes the watch.
func (w *openWatch) finish() {
	for {
		n, err := unix.Read(w.fd, w.buf)
		if err != nil || n <= 0 {
			_ = w.events.Close()
			return
		}
		w.note(w.buf[:n], time.Since(w.began))
	}
}

// note enters the files of a series of events.
func (w *openWatch) note(events []byte, at time.Duration) {
	for len(events) >= unix.SizeofInotifyEvent {
		id := int32(binary.NativeEndian.Uint32(events)) //nolint:gosec // the kernel's numbers are of this size
		mask := binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := events[unix.SizeofInotifyEvent:end]
		events = events[end:]
		w.lost = w.lost || mask&unix.IN_Q_OVERFLOW != 0
		files := w.seen[id]
		if files == nil || len(name) == 0 || mask&unix.IN_ISDIR != 0 {
			continue
		}
		name = bytes.TrimRight(name, "\x00")
		if _, known := files[string(name)]; !known { // which takes no memory
			files[string(name)] = at
		}
	}
}
