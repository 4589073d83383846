package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
)

// stateSize is the length of the file "state".
const stateSize = 4096

// state is the page of counters that all processes of a cache share through a
// mapped file. It contains only what can be recomputed.
type state struct {
	page []byte
	// changes counts appends to the index, so that readers notice them without a
	// system call.
	changes *atomic.Int64
	// used is the size of objects, kept ingests and unfinished ingests.
	used *atomic.Int64
	// objects is the number of objects.
	objects *atomic.Int64
	// collecting is odd while a collection runs.
	collecting *atomic.Int64
	// lost is 1 from the moment when the index was found missing and a new one was
	// started until a verification has reported it.
	lost *atomic.Int64
	// unsynced is the number of bytes published since the last sync marker.
	unsynced *atomic.Int64
}

// openState maps the shared page. A read-only cache without one gets a
// private page.
func openState(path string, readOnly bool) (*state, error) {
	flags, prot := os.O_RDWR|os.O_CREATE, unix.PROT_READ|unix.PROT_WRITE
	if readOnly {
		flags, prot = os.O_RDONLY, unix.PROT_READ
	}
	f, err := nolink.OpenFile(path, flags, 0o666)
	if readOnly && errors.Is(err, fs.ErrNotExist) {
		return newState(make([]byte, stateSize)), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !readOnly {
		if err := extend(f); err != nil {
			return nil, fmt.Errorf("write %s: %w", path, err)
		}
	}
	page, err := unix.Mmap(int(f.Fd()), 0, stateSize, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s (the cache must be on a file system that can share memory, such as a local disk): %w", path, err)
	}
	return newState(page), nil
}

// extend allocates the blocks of the file, so that a full disk is an error now
// and not a SIGBUS on a mapped page later.
func extend(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() >= stateSize {
		return err
	}
	if err := flock(f, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock it (the cache must be on a file system with file locks): %w", err)
	}
	if info, err = f.Stat(); err != nil || info.Size() >= stateSize {
		return err
	}
	_, err = f.WriteAt(make([]byte, stateSize), 0)
	return err
}

func newState(page []byte) *state {
	word := func(i int) *atomic.Int64 { return (*atomic.Int64)(unsafe.Pointer(&page[8*i])) }
	return &state{page: page, changes: word(0), used: word(1), objects: word(2), unsynced: word(3), collecting: word(4), lost: word(5)}
}
