package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
)

const (
	// syncBytes is the number of bytes that may be published before the file system is
	// synced, in the background or when the cache is closed. It limits the bytes to
	// verify after a crash of the machine.
	syncBytes = 64 << 20
	// syncCheck is the interval at which the published bytes are compared with
	// syncBytes.
	syncCheck = 15 * time.Second
)

// syncMarker is the file "sync". Everything published before its time is on
// disk.
type syncMarker struct {
	Boot       string `json:"boot"`
	SyncedUnix int64  `json:"synced_unix"`
}

func (c *folder) writeMarker(synced time.Time) error {
	return writeJSON(c.path(syncName), syncMarker{Boot: c.hooks.bootID, SyncedUnix: synced.Unix()})
}

// recoverBoot verifies, once after each boot, everything written after the last
// sync. A crash of the machine may lose data that were only in memory although the
// file's name survives.
func (c *Cache) recoverBoot() error {
	m, err := readJSON[syncMarker](c.path(syncName))
	if errors.Is(err, fs.ErrNotExist) {
		return c.writeMarker(c.now())
	}
	if err == nil && m.Boot == c.hooks.bootID {
		return nil
	}
	lock, err := c.openLock("boot")
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := flock.Lock(lock); err != nil {
		return err
	}
	// Without a readable marker, everything is suspect.
	m, err = readJSON[syncMarker](c.path(syncName))
	if err == nil && m.Boot == c.hooks.bootID {
		return nil
	}
	ctx := context.Background()
	// The end of the index may be lost or zeros. What is worse waits for Repair.
	if _, err = c.records.index.Rebuild(c.whole(ctx), true); err == nil {
		err = c.verifySince(ctx, m.SyncedUnix-2)
	}
	if err == nil {
		_, err = c.records.index.Tidy()
	}
	if err != nil && !errors.Is(err, index.ErrDamaged) {
		return fmt.Errorf("recover after restart of the machine: %w", err)
	}
	return c.sync()
}

// verifySince verifies the objects published since a time in seconds, and
// checks that the records made since lead to objects that exist.
func (c *Cache) verifySince(ctx context.Context, since int64) error {
	v := &verifier{c: c, ctx: ctx, picks: func(f facts, _ file) bool { return f.since >= since }}
	if tell := c.opts.Progress; tell != nil {
		v.progress = func(p VerifyProgress) { tell(p.Objects, p.TotalObjects) }
	}
	if err := v.objects(); err != nil {
		return err
	}
	return v.records(func(e index.Entry) bool { return len(v.broken) > 0 || e.Used >= since*1000 })
}

// sync writes everything to disk and marks the time.
func (c *folder) sync() error {
	c.syncing.Lock() // those who waited have little left to sync
	defer c.syncing.Unlock()
	// Both are read before the sync. Bytes that are published during it may not reach
	// the disk, and must still count as unsynced afterwards.
	started := c.now()
	written := c.state.unsynced.Load()
	if err := syncFileSystem(c.file); err != nil {
		return fmt.Errorf("sync %s: %w", c.dir, err)
	}
	c.state.unsynced.Add(-written)
	return c.writeMarker(started)
}

// syncIfMuch syncs if enough was published since the last time.
func (c *folder) syncIfMuch() error {
	if c.state.unsynced.Load() < syncBytes {
		return nil
	}
	return c.sync()
}

// startSyncing syncs from time to time until ctx ends.
func (c *Cache) startSyncing(ctx context.Context) {
	stop := progress.Every(syncCheck, func() {
		_ = c.syncIfMuch() // a failed sync only means more to verify after a crash
	})
	c.work.all.Go(func() {
		<-ctx.Done()
		stop()
	})
}

// stateSize is the length of the file "state".
const stateSize = 4096

// state is the beginning of the page of counters that all processes of a cache share
// through a mapped file. It contains only what can be recomputed.
type state struct {
	// changes counts appends to the index, so that readers notice them without a
	// system call.
	changes atomic.Int64
	// used is the size of objects, kept ingests and unfinished ingests.
	used atomic.Int64
	// objects is the number of objects.
	objects atomic.Int64
	// unsynced is the number of bytes published since the last sync marker.
	unsynced atomic.Int64
	// collecting is odd while a collection runs.
	collecting atomic.Int64
	// lost is 1 from the moment when the index was found missing and a new one was
	// started until a verification has reported it.
	lost atomic.Int64
	// logSize is the size of the index log after the last change.
	logSize atomic.Int64
}

// openState maps the shared page. A read-only cache without one gets a private page.
func (c *folder) openState() error {
	path := c.path(stateName)
	flags, prot := os.O_RDWR|os.O_CREATE, unix.PROT_READ|unix.PROT_WRITE
	if c.readOnly {
		flags, prot = os.O_RDONLY, unix.PROT_READ
	}
	f, err := nolink.OpenFile(path, flags, 0o666)
	if c.readOnly && errors.Is(err, fs.ErrNotExist) {
		c.state = new(state)
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if !c.readOnly {
		if err := extend(f); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	page, err := unix.Mmap(int(f.Fd()), 0, stateSize, prot, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", path, err)
	}
	unmapAfter(c, page)
	c.state = (*state)(unsafe.Pointer(&page[0]))
	return nil
}

// extend allocates the blocks of the file, so that a full disk is an error now
// and not a SIGBUS on a mapped page later.
func extend(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() >= stateSize {
		return err
	}
	if err := flock.Lock(f); err != nil {
		return fmt.Errorf("lock it: %w", err)
	}
	if info, err = f.Stat(); err != nil || info.Size() >= stateSize {
		return err
	}
	_, err = f.WriteAt(make([]byte, stateSize), 0)
	return err
}
