package disk

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/digest"
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
	if err := flock(f, unix.LOCK_SH); err != nil {
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

func (c *leases) newLease() (*lease, error) {
	l := &lease{id: rand.Text()}
	// The file gets its name only once it is locked, or another process could take
	// it for the lease of a dead one.
	tmp := c.path(leasesName, "."+l.id)
	f, err := nolink.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp)
	l.file = f
	if err = flock(f, unix.LOCK_EX); err == nil {
		// A write to a mapped page without a block is a SIGBUS on a full disk, so the
		// blocks are allocated now.
		err = reserveBlocks(f, leaseSize)
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		_, err = f.WriteAt(make([]byte, leaseSize), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", tmp, err)
	}
	if err := c.mapLease(l); err != nil {
		f.Close()
		return nil, err
	}
	if err := os.Rename(tmp, c.path(leasesName, l.id)); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
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
	l.words = bitWords(page[leaseHeader:])
	l.reserved, l.inflight = leaseWord(page, leaseReserved), leaseWord(page, leaseInflight)
	return nil
}

// unmapAfter unmaps a page once its owner is unreachable, so that a late use
// after Close is not a memory fault.
func unmapAfter[T any](owner *T, page []byte) {
	runtime.AddCleanup(owner, func(p []byte) { _ = unix.Munmap(p) }, page)
}

// leaseWord returns a pointer to a number in the header of a mapped lease.
func leaseWord(page []byte, at int) *atomic.Int64 {
	return (*atomic.Int64)(unsafe.Pointer(&page[at]))
}

func bitWords(b []byte) []atomic.Uint32 {
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(&b[0])), len(b)/4)
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
