package disk

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
)

// Info is an overview of a cache.
type Info struct {
	Dir      string `json:"dir"`
	Format   string `json:"format"`
	ReadOnly bool   `json:"read_only"`
	// Shared is true if the cache belongs to a group, by InitShared.
	Shared bool `json:"shared,omitempty"`
	// Objects and Bytes are the number and size of the objects; equal content counts
	// once. Like the quota, Bytes includes unfinished ingests.
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Reserved is the number of bytes that live processes have reserved for running
	// work. The quota includes it.
	Reserved int64 `json:"reserved"`
	// Quota is the limit on Bytes and Reserved together; 0 means no limit.
	Quota int64 `json:"quota"`
	// DiskFree is the free space of the file system.
	DiskFree   int64 `json:"disk_free"`
	Records    int   `json:"records"`
	Tombstones int   `json:"tombstones"`
	Pins       int   `json:"pins"`
	// Copies is the number of shared copies, and CopiedBytes the part of Bytes
	// that they take. They are removed when space is needed.
	Copies      int   `json:"copies"`
	CopiedBytes int64 `json:"copied_bytes"`
	// LinkFolders is the number of folders of links to objects that are kept for
	// the next attempt. They take no part of Bytes.
	LinkFolders int `json:"link_folders"`
	// Kept is the number of work folders that outlive their processes.
	Kept int `json:"kept"`
	// Processes is the number of processes that have the cache open.
	Processes int `json:"processes"`
	// IndexBytes is the size of the index.
	IndexBytes int64 `json:"index_bytes"`
	// Quarantined is the number of objects that were found corrupt and kept
	// for inspection.
	Quarantined int `json:"quarantined"`
	// OldestUseUnixMilli is the last use of the least recently used record; 0 if
	// there are no records.
	OldestUseUnixMilli int64 `json:"oldest_use_unix_ms"`
}

// Info returns an overview, without reading the objects.
func (c *Cache) Info(ctx context.Context) (Info, error) {
	info := Info{
		Dir: c.dir, Format: strings.TrimSpace(formatLine), Shared: c.grouped, ReadOnly: c.readOnly, Quota: c.opts.Quota,
		Objects: c.state.objects.Load(), Bytes: c.state.used.Load(),
	}
	if c.grouped {
		info.Format = strings.TrimSpace(sharedLine)
	}
	pins, err := c.Pins(ctx)
	if err != nil {
		return info, err
	}
	info.Pins = len(pins)
	if list, err := names(c.path(quarantineName)); err == nil {
		info.Quarantined = len(list)
	}
	if err := c.liveInfo(&info); err != nil {
		return info, fmt.Errorf("inspect cache: %w", err)
	}
	stats, err := c.records.index.Stats()
	info.Records, info.Tombstones, info.IndexBytes, info.OldestUseUnixMilli = stats.Records, stats.Tombstones, stats.Bytes, stats.OldestUse
	return info, err
}

// liveInfo adds the figures of the live processes and of the disk.
func (c *Cache) liveInfo(info *Info) (err error) {
	if info.DiskFree, err = c.hooks.space(c.dir); err != nil {
		return err
	}
	live, err := c.leases.live()
	if err != nil {
		return err
	}
	info.Processes = live.others
	if c.leases.lease.id != "" {
		info.Processes++
	}
	info.Reserved = live.reserved
	kept, err := c.Kept(context.Background())
	if err != nil {
		return err
	}
	info.Kept = len(kept)
	if info.Copies, info.CopiedBytes, err = c.shares.sharedBytes(); err != nil {
		return err
	}
	list, err := names(c.path(linksName))
	if err := ignoreMissing(err); err != nil {
		return err
	}
	info.LinkFolders = len(list)
	info.Bytes = max(info.Bytes-live.reserved, 0)
	return nil
}

// Item is a record as shown in a list.
type Item struct {
	Action  digest.ActionID `json:"action"`
	Address string          `json:"address"`
	Kind    string          `json:"kind"`
	Run     string          `json:"run"`
	// Size and Files are the sums over the outputs. Content that records
	// share counts in each of them.
	Size  int64 `json:"size"`
	Files int64 `json:"files"`
	// RecordedUnixMilli is when the action was recorded, and UsedUnixMilli when it
	// was last used, with the precision of an hour.
	RecordedUnixMilli int64 `json:"recorded_unix_ms"`
	UsedUnixMilli     int64 `json:"used_unix_ms"`
	// Pins are the names of the pins on the record.
	Pins []string `json:"pins,omitempty"`
}

func (c *Cache) item(rec *cache.Record, e index.Entry) Item {
	files, bytes := rec.Outputs.Content(slices.Collect(maps.Keys(rec.Outputs))...)
	return Item{
		Action: rec.Action, Address: rec.Address, Kind: rec.Kind, Run: rec.Run,
		RecordedUnixMilli: rec.StartedUnixMilli + rec.DurationMillis, UsedUnixMilli: e.Used,
		Size: bytes, Files: files,
	}
}

// List returns all records, sorted by address and then by time.
func (c *Cache) List(ctx context.Context) ([]Item, error) {
	pins, err := c.Pins(ctx)
	if err != nil {
		return nil, err
	}
	pinned := make(map[digest.ActionID][]string)
	for _, p := range pins {
		for _, id := range p.Actions {
			if names := pinned[id]; len(names) == 0 || names[len(names)-1] != p.Name {
				pinned[id] = append(names, p.Name) // a pin may name an action twice
			}
		}
	}
	var items []Item
	err = c.records.eachRecord(ctx, func(rec *cache.Record, e index.Entry) error {
		it := c.item(rec, e)
		it.Pins = pinned[rec.Action]
		items = append(items, it)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list cache: %w", err)
	}
	slices.SortFunc(items, compareItems)
	return items, nil
}

func compareItems(a, b Item) int {
	return cmp.Or(
		strings.Compare(a.Address, b.Address),
		cmp.Compare(a.RecordedUnixMilli, b.RecordedUnixMilli),
		bytes.Compare(a.Action[:], b.Action[:]),
	)
}

// dropOldAfter is the number of seconds for which unfinished ingests and
// quarantined objects are kept.
const dropOldAfter = 7 * 24 * 3600

// dropOld removes unfinished ingests that nobody has continued, and quarantined
// objects, after a week.
func (c *ingests) dropOld() error {
	limit := c.now().Unix() - dropOldAfter
	quarantined, err := names(c.path(quarantineName))
	if err != nil {
		return err
	}
	for _, name := range quarantined {
		_, since, _ := strings.Cut(name, ".")
		if ns, err := strconv.ParseInt(since, 10, 64); err == nil && ns/1e9 < limit {
			if err := ignoreMissing(os.Remove(c.path(quarantineName, name))); err != nil {
				return err
			}
		}
	}
	return c.dropIngests(limit)
}

// dropIngests removes unfinished ingests that are older than the limit. A
// saved state is removed with its ingest, or by itself if a process died between
// the two.
func (c *ingests) dropIngests(limit int64) error {
	kept, err := names(c.path(ingestName))
	if err != nil {
		return err
	}
	for _, name := range kept {
		path := c.path(ingestName, name)
		if f, err := statPath(path); err != nil || f.since >= limit {
			continue
		}
		ingest, _, state := strings.Cut(name, ".")
		switch {
		case !state:
			err = c.dropKeyed(path)
		case !slices.Contains(kept, ingest):
			err = ignoreMissing(os.Remove(path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
