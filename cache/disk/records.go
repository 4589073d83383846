package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/nolink"
)

// openIndex opens the index of the cache.
func (c *records) openIndex() (err error) {
	cfg := index.Config{
		Path: c.path(indexName, "log"), Copy: c.path(recordsName, "log"), Changes: &c.state.changes, Size: &c.state.logSize, Lost: &c.state.lost,
		OnDrop: c.objects.forgetShards,
		Now:    c.hooks.now, Write: c.hooks.write, At: c.hooks.at,
	}
	if !c.readOnly {
		if c.lock.file, err = c.openLock("index"); err != nil {
			return err
		}
		// A cache of an earlier version has no such folder. If root makes it, it is the owner's.
		var owner unix.Stat_t
		if nolink.Mkdir(c.path(recordsName), 0o777) == nil && unix.Stat(c.dir, &owner) == nil {
			_ = os.Chown(c.path(recordsName), int(owner.Uid), int(owner.Gid))
		}
		cfg.Hold = func(fn func() error) error { return c.lock.hold(flock.Lock, fn) }
	}
	c.index, err = index.Open(cfg)
	return err
}

// eachRecord calls fn for every record that exists now.
func (c *records) eachRecord(ctx context.Context, fn func(*cache.Record, index.Entry) error) error {
	list, err := c.index.Snapshot()
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, e, err := c.index.Get(p.ID)
		if err != nil {
			return fmt.Errorf("action %s: %w; 'mleflow cache verify' drops it", p.ID.Short(), err)
		}
		if rec == nil {
			continue // dropped meanwhile
		}
		if err := fn(rec, e); err != nil {
			return err
		}
	}
	return nil
}

// Each implements cache.Lister.
func (c *records) Each(ctx context.Context, fn func(*cache.Record) error) error {
	return c.eachRecord(ctx, func(rec *cache.Record, _ index.Entry) error { return fn(rec) })
}

// flushUses records what this process used since it opened the cache, unless
// the index has a recent use already, or is damaged.
func (c *records) flushUses() error {
	if c.readOnly || c.leases.lease == nil || c.leases.lease.words == nil {
		return nil
	}
	now := c.now().UnixMilli()
	err := c.index.Use(now, func(id digest.ActionID, used int64) bool {
		return now-used > c.hooks.accessEvery.Milliseconds() && c.leases.lease.uses(id)
	})
	return ignoreDamage(err)
}

// records is the index together with the content that its records name.
type records struct {
	*folder
	leases  *leases
	objects *objects
	lock    sharedLock
	index   *index.Index
}

// Lookup implements cache.Index. The record and its content stay in the cache while
// this process lives.
func (c *records) Lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	// The mark comes first. If another process drops the record after it, that
	// process sees the mark; if it dropped the record before, Refresh shows that.
	c.leases.lease.use(id)
	rec, err := c.find(id)
	if err != nil {
		return nil, fmt.Errorf("look up action %s: %w", id.Short(), err)
	}
	for ref := range rec.Outputs.Refs() {
		c.leases.lease.use(ref.ID)
		c.objects.drafts.claim(ctx, ref.ID)
		if !c.objects.present(ref.ID) {
			return nil, c.lostOutput(ctx, rec, ref)
		}
	}
	return rec, nil
}

// find returns the record of an action as the index has it.
func (c *records) find(id digest.ActionID) (*cache.Record, error) {
	if err := c.index.Refresh(); err != nil {
		return nil, err
	}
	rec, _, err := c.index.Get(id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrNotFound, err)
	}
	if rec != nil {
		return rec, nil
	}
	if err := c.index.Look(); err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrNotFound, err)
	}
	return nil, cache.ErrNotFound
}

// lostOutput drops all records whose content has disappeared without a
// collection, rec among them, and returns cache.ErrNotFound. If one object was
// removed by hand, others probably were too, and one pass finds them all.
func (c *records) lostOutput(ctx context.Context, rec *cache.Record, ref cache.Ref) error {
	if !c.readOnly {
		if err := c.dropBroken(ctx, c.objects.missing, every, nil); err != nil {
			return fmt.Errorf("look up action %s: %w", rec.Action.Short(), err)
		}
	}
	return fmt.Errorf("look up action %s: its output %s: %w", rec.Action.Short(), ref.ID.Short(), cache.ErrNotFound)
}

// drop drops records that lead to what is missing or wrong, unless nothing may be written.
func (c *records) drop(chosen map[digest.ActionID]int64) error {
	if len(chosen) == 0 || c.readOnly {
		return nil
	}
	_, err := c.index.Drop(chosen, "corrupt")
	return ignoreDamage(err) // Repair drops them
}

// ignoreDamage returns nil for the error of a change that a damaged index refuses.
func ignoreDamage(err error) error {
	if errors.Is(err, index.ErrDamaged) {
		return nil
	}
	return err
}

// costly is how long a result took to make that is on disk before anybody hears of it. A
// cheaper one waits for the next sync, and after a power failure is made again.
const costly = time.Minute

// Record implements cache.Index. A result that took long, or that cannot be reproduced, is
// on disk when Record returns.
func (c *records) Record(ctx context.Context, rec *cache.Record) error {
	err := c.Adopt(ctx, rec)
	if err == nil && (rec.DurationMillis >= costly.Milliseconds() || slices.Contains(c.opts.Last, rec.Kind)) {
		err = c.sync()
	}
	return err
}

// Adopt is Record for a result that is stored elsewhere, too.
func (c *records) Adopt(ctx context.Context, rec *cache.Record) error {
	if err := c.writing("record action"); err != nil {
		return err
	}
	if err := c.record(ctx, rec); err != nil {
		return fmt.Errorf("record action %s: %w", rec.Action.Short(), c.explain(err))
	}
	return nil
}

func (c *records) record(ctx context.Context, rec *cache.Record) error {
	line, err := index.Encode(rec, c.now().UnixMilli())
	if err != nil {
		return err
	}
	c.leases.lease.use(rec.Action)
	for name, v := range rec.Outputs {
		if v.Ref.IsZero() {
			continue
		}
		c.leases.lease.use(v.Ref.ID)
		if _, err := c.objects.Has(ctx, v.Ref.ID); err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
	}
	return c.index.Add(line)
}

// Evicted implements cache.Index.
func (c *records) Evicted(_ context.Context, id digest.ActionID) (cache.Tombstone, error) {
	return c.index.Tombstone(id)
}

// Pin keeps records and content from being evicted. Runs and lock files hold
// pins by their name.
type Pin struct {
	Name string `json:"name"`
	// Actions are pinned with everything their records lead to.
	Actions []digest.ActionID `json:"actions,omitempty"`
	// Refs are pinned with everything below them.
	Refs             []cache.Ref `json:"refs,omitempty"`
	CreatedUnixMilli int64       `json:"created_unix_ms"`
}

// Pin creates or replaces the pin p.Name. What it names must be in the cache;
// otherwise the error wraps cache.ErrNotFound.
func (c *records) Pin(ctx context.Context, p Pin) error {
	if err := c.writing("pin"); err != nil {
		return err
	}
	if p.Name == "" {
		return errors.New("pin: the name is empty")
	}
	// No collection may run between the check and the pin.
	unlock, err := c.lockNamed(ctx, "gc", flock.TryShared)
	if err != nil {
		return fmt.Errorf("pin %s: %w", p.Name, err)
	}
	defer unlock()
	for _, id := range p.Actions {
		if _, err := c.Lookup(ctx, id); err != nil {
			return fmt.Errorf("pin %s: %w", p.Name, err)
		}
	}
	for _, ref := range p.Refs {
		if _, err := c.objects.Has(ctx, ref.ID); err != nil {
			return fmt.Errorf("pin %s: %w", p.Name, err)
		}
	}
	p.CreatedUnixMilli = c.now().UnixMilli()
	data, err := json.MarshalIndent(p, "", " ")
	if err == nil {
		err = writeFileAtomic(c.pinPath(p.Name), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("pin %s: %w", p.Name, c.explain(err))
	}
	return nil
}

// Unpin removes a pin, or returns an error that wraps cache.ErrNotFound.
func (c *records) Unpin(_ context.Context, name string) error {
	if err := c.writing("unpin"); err != nil {
		return err
	}
	err := os.Remove(c.pinPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = cache.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("unpin %s: %w", name, err)
	}
	return nil
}

// Pins returns all pins, sorted by name.
func (c *records) Pins(context.Context) ([]Pin, error) {
	list, err := os.ReadDir(c.path(pinsName))
	if err != nil {
		return nil, fmt.Errorf("list pins: %w", err)
	}
	var pins []Pin
	for _, d := range list {
		if !strings.HasSuffix(d.Name(), ".json") {
			continue
		}
		p, err := readJSON[Pin](c.path(pinsName, d.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list pins: %w; pin the same results again under that name, or remove the file, which ends the pin", err)
		}
		pins = append(pins, p)
	}
	slices.SortFunc(pins, func(a, b Pin) int { return strings.Compare(a.Name, b.Name) })
	return pins, nil
}

// pinPath returns the file of a pin. Names of pins stay readable, and no two
// share a file.
func (c *records) pinPath(name string) string {
	return c.path(pinsName, safeName(name)+"-"+digest.Of([]byte(name)).Short()+".json")
}
