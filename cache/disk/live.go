package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
)

// liveLeases is the union of the leases of live processes at one moment.
type liveLeases struct {
	// bits is the union of their bitmaps.
	bits lease
	// others is the number of live processes other than this one.
	others int
	// uncounted is the number of dead processes whose reservations have not been
	// released yet.
	uncounted int
	// reserved is the rest of their reservations.
	reserved int64
}

// live reads the leases of all live processes.
func (c *leases) live() (*liveLeases, error) {
	l, err := c.others()
	if err != nil {
		return nil, err
	}
	l.reserved += c.lease.reserved.Load()
	for i := range c.lease.words {
		if v := c.lease.words[i].Load(); v != 0 {
			l.bits.words[i].Or(v)
		}
	}
	return l, nil
}

// others reads the leases of the other live processes.
func (c *leases) others() (*liveLeases, error) {
	l := &liveLeases{}
	l.bits.words = make([]atomic.Uint32, leaseBits/32)
	return l, c.eachOther(l.add)
}

// eachOther calls fn with the path of every other process's lease.
func (c *leases) eachOther(fn func(path string) error) error {
	list, err := names(c.path(leasesName))
	if err != nil {
		return err
	}
	for _, id := range list {
		if id == c.lease.id || strings.HasPrefix(id, ".") {
			continue
		}
		if err := fn(c.path(leasesName, id)); err != nil {
			return fmt.Errorf("read lease: %w", err)
		}
	}
	return nil
}

// reserved returns the rest of the reservations of all live processes.
func (c *leases) reserved() (int64, error) {
	sum := c.lease.reserved.Load()
	err := c.eachOther(func(path string) error {
		n, err := reservedIn(path)
		sum += n
		return err
	})
	return sum, err
}

// reservedIn returns the rest of the reservations in the lease at path, or 0 if its
// process is dead.
func reservedIn(path string) (int64, error) {
	f, err := nolink.Open(path)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	defer f.Close()
	if dead, err := tryFlock(f, unix.LOCK_EX); dead || err != nil {
		return 0, err
	}
	var word [8]byte
	if _, err := f.ReadAt(word[:], leaseReserved); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(word[:])), nil
}

// add reads the lease at path, if its process is alive.
func (l *liveLeases) add(path string) error {
	f, err := nolink.Open(path)
	if err != nil {
		return ignoreMissing(err)
	}
	defer f.Close()
	dead, err := tryFlock(f, unix.LOCK_EX)
	if err != nil {
		return err
	}
	data := make([]byte, leaseSize)
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if dead {
		if *(*[16]byte)(data[leaseReserved:]) != [16]byte{} {
			l.uncounted++
		}
		return nil
	}
	l.others++
	l.reserved += int64(binary.LittleEndian.Uint64(data[leaseReserved:]))
	for i, w := 0, data[leaseHeader:]; len(w) >= 4; i, w = i+1, w[4:] {
		if v := binary.LittleEndian.Uint32(w); v != 0 {
			l.bits.words[i].Or(v)
		}
	}
	return nil
}

// alone reports whether no other process has anything counted in the state.
func (l *liveLeases) alone() bool { return l.others == 0 && l.uncounted == 0 }

func (l *liveLeases) uses(id [digest.Size]byte) bool { return l.bits.uses(id) }

// errHeld means that a process protects everything because it cannot register the
// digests that it uses.
var errHeld = errors.New("the cache is in use by a process that cannot register what it uses (it has no write permission, or found no space); try again when it has ended")

// lockHold makes sure that no process holds the cache as a whole.
func (c *leases) lockHold() (unlock func(), err error) {
	if f := c.lease.hold; f != nil {
		if err := lockHeld(f); err != nil {
			return nil, err
		}
		return func() { _ = flock(f, unix.LOCK_SH) }, nil
	}
	f, err := c.openLock("hold")
	if err != nil {
		return nil, fmt.Errorf("lock cache: %w", err)
	}
	if err := lockHeld(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

func lockHeld(f *os.File) error {
	ok, err := tryFlock(f, unix.LOCK_EX)
	if err != nil {
		return fmt.Errorf("lock cache: %w", err)
	}
	if !ok {
		return errHeld
	}
	return nil
}
