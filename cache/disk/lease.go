package disk

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/nolink"
)

// A lease file is a header and a bitmap. Each digest, of an action or of
// content, hashes to one bit. A set bit protects everything that hashes to it
// while the process lives; a collision only protects too much. With 2 Mi bits, a
// process that uses 100,000 digests protects 5 % of the others as well, for a
// file of 256 KiB.
const (
	leaseHeader = 4096
	leaseBits   = 1 << 21
	leaseSize   = leaseHeader + leaseBits/8
	// leaseReserved and leaseInflight are the offsets of these numbers in the
	// header.
	leaseReserved = 8
	leaseInflight = 16
)

// lease shows that a process is alive and which digests it uses. The file stays
// locked as long as the process lives; the bits are shared memory.
type lease struct {
	id    string
	file  *os.File
	words []atomic.Uint32
	// reserved is the rest of the process's reservations. inflight is the bytes of its
	// ingests that a count of files does not find yet. Both are released when the
	// process has died.
	reserved, inflight *atomic.Int64
	// hold protects everything, without bits. It is for processes that cannot
	// write a lease.
	hold *os.File
}

// leases manages the leases of this process, of the other live processes and of
// dead ones.
type leases struct {
	*folder
	lease *lease
	// started is the time at which this process opened the cache, in seconds.
	started int64
}

// openLease registers the process. If the cache cannot be written to, or there
// is no space for a lease, the process holds the cache as a whole.
func (c *leases) openLease() (*lease, error) {
	c.started = c.now().Unix()
	var l *lease
	err := error(unix.ENOSPC)
	if !c.readOnly {
		l, err = c.newLease()
	}
	if c.readOnly || isFull(err) {
		l, err = c.holdAll()
	}
	if err != nil {
		return nil, err
	}
	if l.reserved == nil { // without a lease, other processes do not see what this one uses
		l.reserved, l.inflight = new(atomic.Int64), new(atomic.Int64)
	}
	return l, nil
}

func (c *leases) holdAll() (*lease, error) {
	f, err := c.openLock("hold")
	if c.readOnly && errors.Is(err, fs.ErrNotExist) {
		return &lease{}, nil // nobody has ever collected garbage here
	}
	if err != nil {
		return nil, err
	}
	if err := flock.LockShared(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	l := &lease{hold: f}
	if !c.readOnly {
		// Its own collections still need to know what this process uses.
		l.words = make([]atomic.Uint32, leaseBits/32)
	}
	return l, nil
}

func (c *leases) newLease() (l *lease, err error) {
	l = &lease{id: rand.Text()}
	// The file gets its name only once it is locked, or another process could take
	// it for the lease of a dead one.
	tmp := c.path(leasesName, "."+l.id)
	f, err := nolink.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp)
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	l.file = f
	if err = flock.Lock(f); err == nil {
		// A write to a mapped page without a block is a SIGBUS on a full disk, so the
		// blocks are allocated now.
		err = reserveBlocks(f, leaseSize)
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		_, err = f.WriteAt(make([]byte, leaseSize), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", tmp, err)
	}
	if err = c.mapLease(l); err == nil {
		err = c.hooks.link(c.file, tmp, c.path(leasesName, l.id))
	}
	if linkRefused(err) {
		c.unlinked.Store(true)
		err = os.Rename(tmp, c.path(leasesName, l.id))
	}
	return l, err
}

// mapLease writes the header and maps the bits.
func (c *leases) mapLease(l *lease) error {
	var start [8]byte
	binary.LittleEndian.PutUint64(start[:], uint64(c.started))
	if _, err := l.file.WriteAt(start[:], 0); err != nil {
		return fmt.Errorf("write lease: %w", err)
	}
	page, err := unix.Mmap(int(l.file.Fd()), 0, leaseSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map lease: %w", err)
	}
	unmapAfter(c, page)
	l.words = unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(&page[leaseHeader])), leaseBits/32)
	l.reserved, l.inflight = (*atomic.Int64)(unsafe.Pointer(&page[leaseReserved])), (*atomic.Int64)(unsafe.Pointer(&page[leaseInflight]))
	return nil
}

// unmapAfter unmaps a page once its owner is unreachable, so that a late use
// after Close is not a memory fault.
func unmapAfter[T any](owner *T, page []byte) {
	runtime.AddCleanup(owner, func(p []byte) { _ = unix.Munmap(p) }, page)
}

// bitOf maps a digest to its bit.
func bitOf(id [digest.Size]byte) (word int, mask uint32) {
	bit := binary.LittleEndian.Uint32(id[:]) % leaseBits
	return int(bit / 32), 1 << (bit % 32)
}

// use marks a digest as used by this process.
func (l *lease) use(id [digest.Size]byte) {
	if l.words == nil {
		return
	}
	word, mask := bitOf(id)
	if w := &l.words[word]; w.Load()&mask == 0 {
		w.Or(mask)
	}
}

// uses reports whether a digest may have been marked.
func (l *lease) uses(id [digest.Size]byte) bool {
	if l.words == nil {
		return false
	}
	word, mask := bitOf(id)
	return l.words[word].Load()&mask != 0
}

// counted is the bytes that a process counts in the quota besides its files.
type counted struct{ reserved, inflight int64 }

func (l *lease) counted() counted { return counted{l.reserved.Load(), l.inflight.Load()} }

func (n counted) sum() int64 { return n.reserved + n.inflight }

// close ends the lease.
func (l *lease) close() error {
	if l.hold != nil {
		return l.hold.Close()
	}
	if l.file == nil {
		return nil
	}
	path := l.file.Name()
	path = path[:len(path)-len(l.id)-1] + l.id
	return errors.Join(os.Remove(path), l.file.Close())
}

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
		head := make([]byte, leaseReserved+8)
		alive, err := readLease(path, head)
		if alive {
			sum += int64(binary.LittleEndian.Uint64(head[leaseReserved:]))
		}
		return err
	})
	return sum, err
}

// readLease reads the first bytes of the lease at path, and reports whether its process
// is alive.
func readLease(path string, data []byte) (alive bool, err error) {
	f, err := nolink.Open(path)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer f.Close()
	dead, err := flock.TryShared(f) // NFS refuses LOCK_EX on a file that is open for reading
	if err != nil {
		return false, err
	}
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return !dead, nil
}

// add reads the lease at path, if its process is alive.
func (l *liveLeases) add(path string) error {
	data := make([]byte, leaseSize)
	alive, err := readLease(path, data)
	if err != nil {
		return err
	}
	if !alive {
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

// forkTries and forkPause are how often, and with which pauses, a lock is tried that a
// forked child may have.
const (
	forkTries = 10
	forkPause = 2 * time.Millisecond
)

// lockHold makes sure that no process holds the cache as a whole.
func (c *leases) lockHold() (unlock func(), err error) {
	f := c.lease.hold
	unlock = func() { _ = flock.LockShared(f) }
	if f == nil {
		if f, err = c.openLock("hold"); err != nil {
			return nil, fmt.Errorf("lock cache: %w", err)
		}
		unlock = func() { _ = f.Close() }
	}
	// A child that was just forked has the locks of its parent until it runs its program.
	ok := false
	for n := 0; n < forkTries && !ok && err == nil; n++ {
		if n > 0 {
			time.Sleep(forkPause)
		}
		ok, err = flock.Try(f)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("lock cache: %w", err)
	case ok:
		return unlock, nil
	default:
		err = errHeld
	}
	unlock() // a lock that was to become another is lost
	return nil, err
}
