package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk/index"
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

func (c *folder) readMarker() (m syncMarker, err error) {
	data, err := nolink.ReadFile(c.path(syncName))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read %s: %w", c.path(syncName), err)
	}
	return m, nil
}

func (c *folder) writeMarker(synced time.Time) error {
	data, err := json.Marshal(syncMarker{Boot: c.hooks.bootID, SyncedUnix: synced.Unix()})
	if err != nil {
		return err
	}
	return writeFileAtomic(c.path(syncName), append(data, '\n'))
}

// recoverBoot verifies, once after each boot, everything written after the last
// sync. A crash of the machine may lose data that were only in memory although the
// file's name survives.
func (c *Cache) recoverBoot() error {
	m, err := c.readMarker()
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
	if err := flock(lock, unix.LOCK_EX); err != nil {
		return err
	}
	// Without a readable marker, everything is suspect.
	m, err = c.readMarker()
	if err == nil && m.Boot == c.hooks.bootID {
		return nil
	}
	ctx := context.Background()
	if err := c.verifySince(ctx, m.SyncedUnix-2); err != nil {
		return fmt.Errorf("recover after restart of the machine: %w", err)
	}
	// The end of the index may be lost or zeros.
	if _, _, err := c.records.index.Repair(); err != nil {
		return fmt.Errorf("recover after restart of the machine: %w", err)
	}
	return c.sync()
}

// verifySince verifies the objects published since a time in seconds, and
// checks that the records made since lead to objects that exist.
func (c *Cache) verifySince(ctx context.Context, since int64) error {
	v := &verifier{c: c, ctx: ctx, front: newFront(), picks: func(f facts, _ file) bool { return f.since >= since }}
	if tell := c.opts.Progress; tell != nil {
		v.progress = func(p VerifyProgress) { tell(p.Objects, p.TotalObjects) }
	}
	if err := v.objects(); err != nil {
		return err
	}
	return v.records(func(e index.Entry, _ *cache.Record) bool { return len(v.broken) > 0 || e.Used >= since*1000 })
}

// sync writes everything to disk and marks the time.
func (c *folder) sync() error {
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
	c.work.all.Go(func() {
		tick := time.NewTicker(syncCheck)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// A failed sync only means more to verify after a crash.
				_ = c.syncIfMuch()
			}
		}
	})
}
