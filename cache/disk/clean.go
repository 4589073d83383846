package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// startCleaning removes, in the background, files that dead processes left.
func (c *Cache) startCleaning(ctx context.Context) {
	dead, err := c.leases.deadProcesses()
	if err != nil || len(dead) == 0 {
		return // the next Open or GC tries again
	}
	c.work.cleaning.Add(1)
	c.work.all.Go(func() {
		defer c.work.cleaning.Done()
		_ = c.leases.clean(ctx, dead)
	})
}

// deadProcess is a lease whose process has died, or files without a lease.
type deadProcess struct {
	id   string
	file *os.File // locked, or nil
}

// deadProcesses returns the processes that died without closing the cache.
// Their leases stay locked until clean has run.
func (c *leases) deadProcesses() ([]deadProcess, error) {
	// Work folders are listed before leases: a process creates its lease before
	// its folder, so a folder listed here without a lease afterwards belongs to
	// nobody.
	work, err := names(c.path(tmpName))
	if err != nil {
		return nil, err
	}
	leases, err := names(c.path(leasesName))
	if err != nil {
		return nil, err
	}
	var dead []deadProcess
	leased := make(map[string]bool, len(leases))
	for _, id := range leases {
		leased[id] = true
		if f := c.lockDead(id); f != nil {
			dead = append(dead, deadProcess{id, f})
		}
	}
	for _, id := range work {
		if !leased[id] && !strings.HasPrefix(id, ".") {
			dead = append(dead, deadProcess{id: id})
		}
	}
	return dead, nil
}

// lockDead returns the locked lease of a dead process, or nil. A lease without
// content may be that of a process that is just starting, so it has a minute.
func (c *leases) lockDead(id string) *os.File {
	if id == c.lease.id {
		return nil
	}
	f, err := nolink.OpenFile(c.path(leasesName, id), os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err == nil && (!strings.HasPrefix(id, ".") || c.now().Sub(info.ModTime()) > time.Minute) {
		if ok, err := tryFlock(f, unix.LOCK_EX); ok && err == nil {
			return f
		}
	}
	f.Close()
	return nil
}

func names(dir string) ([]string, error) {
	f, err := nolink.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// clean removes the work folders, then the leases, of dead processes.
func (c *leases) clean(ctx context.Context, dead []deadProcess) error {
	var errs []error
	for _, d := range dead {
		c.uncount(d)
		if ctx.Err() == nil {
			err := tree.Remove(c.path(tmpName, d.id))
			if err == nil && d.file != nil {
				err = ignoreMissing(os.Remove(d.file.Name()))
			}
			errs = append(errs, err)
		}
		if d.file != nil {
			errs = append(errs, d.file.Close())
		}
	}
	return errors.Join(errs...)
}

// uncount releases the reservations and in-flight bytes of a dead process. Its
// lease is locked and records that this was done, so that it is done only once.
func (c *leases) uncount(d deadProcess) {
	if d.file == nil {
		return
	}
	var words, none [16]byte
	if _, err := d.file.ReadAt(words[:], leaseReserved); err != nil || words == none {
		return // unfinished, or done
	}
	if _, err := d.file.WriteAt(none[:], leaseReserved); err != nil {
		return
	}
	for _, at := range []int{0, leaseInflight - leaseReserved} {
		c.state.used.Add(-int64(binary.LittleEndian.Uint64(words[at:])))
	}
}

// reap releases the reservations of dead processes. clean does the rest.
func (c *leases) reap() error {
	dead, err := c.deadProcesses()
	for _, d := range dead {
		c.uncount(d)
		if d.file != nil {
			_ = d.file.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("find dead processes: %w", err)
	}
	return nil
}
