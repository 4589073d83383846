package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// Options configure a cache.
type Options struct {
	// Quota is the largest size of all objects in bytes; 0 sets no limit. Content is
	// counted once however often it is used.
	Quota int64
	// ReadOnly opens the cache for reading, whatever the folder permits.
	ReadOnly bool
	// Last lists the step kinds whose results cannot be reproduced, such as an
	// agent's run. Their records are evicted after all others.
	Last []string
	// Progress, if set, is called during long work in Open, such as verifying what
	// was written before the machine crashed.
	Progress func(done, total int64)
}

// Cache is an open cache folder. It is safe for concurrent use, together with
// any number of other processes. Its parts have most of its methods.
type Cache struct {
	*folder
	*leases
	*quota
	*objects
	*records
	*reading
	*ingests
	*placing
	*keeping
	*shares
	*linkFolders

	work    background
	closing sync.Once
}

// background is the work that runs beside the method calls.
type background struct {
	stop context.CancelFunc
	all  sync.WaitGroup
	// cleaning removes files that dead processes left. Meanwhile their leases are
	// locked, as if they were alive.
	cleaning sync.WaitGroup
}

var _ cache.Cache = (*Cache)(nil)

// hooks let tests inject faults.
type hooks struct {
	now    func() time.Time
	bootID string
	// accessEvery is the precision of a record's last use.
	accessEvery time.Duration
	write       func(f *os.File, p []byte) (int, error)
	link        func(dir *os.File, name, to string) error
	// space returns the free bytes of the file system of a folder.
	space func(dir string) (int64, error)
	// unnamed is false if the file system has no unnamed files (O_TMPFILE).
	unnamed bool
	// at is called at named points where a test may simulate a crash.
	at func(point string)
}

func systemHooks() hooks {
	return hooks{
		now: time.Now, bootID: systemBootID(), accessEvery: time.Hour, write: (*os.File).Write, link: linkIn, space: freeSpace,
		unnamed: canUnnamed, at: func(string) {},
	}
}

// Open opens the cache in the folder dir, and creates the folder if it does not
// exist. A folder that cannot be written to is opened for reading: then every
// method that writes fails with cache.ErrReadOnly.
func Open(dir string, opts Options) (*Cache, error) {
	return open(dir, opts, systemHooks())
}

func open(dir string, opts Options, h hooks) (*Cache, error) {
	c := newCache(&folder{dir: nolink.Folder(dir), opts: opts, hooks: h, readOnly: opts.ReadOnly, masked: masksObjects()})
	if err := c.open(); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("open cache %s: %w", dir, explainRights(c.dir, c.because(err)))
	}
	return c, nil
}

func (c *Cache) open() error {
	if !c.readOnly {
		if err := makePrivate(c.dir); err != nil {
			return err
		}
		c.readOnly = !writable(c.dir)
	}
	if err := checkFormat(c.dir, c.readOnly); err != nil {
		return err
	}
	if err := c.checkFolders(); err != nil {
		return err
	}
	if err := c.joinGroup(); err != nil {
		return err
	}
	var err error
	if c.file, err = os.Open(c.dir); err != nil {
		return err
	}
	if err = c.openState(); err != nil {
		return err
	}
	if c.leases.lease, err = c.leases.openLease(); err != nil {
		return err
	}
	c.quota.pool.Left = c.leases.lease.reserved
	if err = c.records.openIndex(); err != nil {
		return err
	}
	if c.readOnly {
		return nil
	}
	if c.objects.deleting.file, err = c.openLock("delete"); err != nil {
		return err
	}
	if err := c.recoverBoot(); err != nil {
		return err
	}
	c.quota.makeReserve()
	var ctx context.Context
	ctx, c.work.stop = context.WithCancel(context.Background())
	c.startCleaning(ctx)
	c.startSyncing(ctx)
	return nil
}

// Dir returns the cache folder.
func (c *Cache) Dir() string { return c.dir }

// ObjectFile returns the path of the file of a blob, which need not exist.
func (c *Cache) ObjectFile(id digest.ContentID) string { return c.objectPath(id, false) }

// ReadOnly reports whether the cache cannot be written to.
func (c *Cache) ReadOnly() bool { return c.readOnly }

// Close records the last uses, ends the process's leases and removes its work
// folders. c must not be used afterwards.
func (c *Cache) Close() (err error) {
	c.closing.Do(func() {
		if err = c.close(); err != nil {
			err = fmt.Errorf("close cache %s: %w", c.dir, err)
		}
	})
	return err
}

// close undoes whatever open did.
func (c *Cache) close() error {
	if c.work.stop != nil {
		c.work.stop()
	}
	c.work.all.Wait()
	var errs []error
	if c.records.index != nil {
		errs = append(errs, c.records.flushUses())
		if !c.readOnly {
			errs = append(errs, c.syncIfMuch())
		}
		errs = append(errs, c.records.index.Close())
	}
	if c.leases.lease != nil {
		if c.leases.lease.id != "" {
			errs = append(errs, tree.Remove(c.path(tmpName, c.leases.lease.id)))
		}
		errs = append(errs, c.leases.lease.close())
	}
	errs = append(errs, c.keeping.close())
	for _, f := range []*os.File{c.file, c.objects.deleting.file, c.records.lock.file} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// now returns the time; tests set it.
func (c *folder) now() time.Time { return c.hooks.now() }

// writing returns an error unless the cache can be written to.
func (c *folder) writing(verb string) error {
	if c.readOnly {
		return fmt.Errorf("%s: %w: %s", verb, cache.ErrReadOnly, c.dir)
	}
	return nil
}

// Latest implements cache.Relay; there is no other machine.
func (c *Cache) Latest(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	return c.Lookup(ctx, id)
}

// Finish implements cache.Relay.
func (c *Cache) Finish(context.Context) int { return 0 }

// Sync implements cache.Relay.
func (c *Cache) Sync(ctx context.Context) error {
	done := make(chan error, 1)
	c.work.all.Go(func() { done <- c.sync() })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newCache connects the parts. Each part knows only the parts that it builds on.
func newCache(f *folder) *Cache {
	c := &Cache{folder: f, leases: &leases{folder: f}, keeping: &keeping{folder: f}}
	c.quota = &quota{folder: f, leases: c.leases, collect: c.collect}
	c.objects = &objects{folder: f, leases: c.leases, quota: c.quota, deleting: sharedLock{name: "cache"}, drafts: drafts{list: make(map[digest.ContentID]draft)}}
	c.records = &records{folder: f, leases: c.leases, objects: c.objects, lock: sharedLock{name: "index"}}
	c.reading = &reading{folder: f, objects: c.objects, records: c.records}
	c.ingests = &ingests{folder: f, leases: c.leases, quota: c.quota, objects: c.objects}
	c.placing = &placing{folder: f, leases: c.leases, quota: c.quota, objects: c.objects, reading: c.reading}
	c.shares = &shares{folder: f, leases: c.leases, quota: c.quota, files: c}
	c.linkFolders = &linkFolders{folder: f, leases: c.leases, objects: c.objects, files: c}
	return c
}
