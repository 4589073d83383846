package memory

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// Evict drops a record and leaves a tombstone with the reason ("quota", "gc"
// or "corrupt"), as a cache on disk would. Content stays.
func (c *Cache) Evict(id digest.ActionID, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(id, reason)
}

func (c *Cache) evict(id digest.ActionID, reason string) {
	if _, ok := c.records[id]; ok {
		delete(c.records, id)
		c.tombs[id] = cache.Tombstone{Action: id, EvictedUnixMilli: time.Now().UnixMilli(), Reason: reason}
	}
}

// Corrupt removes an object as if it had been found damaged, with every
// record that leads to it.
func (c *Cache) Corrupt(id digest.ContentID) {
	c.mu.Lock()
	c.space.used.Add(-int64(len(c.objects[id])))
	delete(c.objects, id)
	records := make(map[digest.ActionID]*cache.Record, len(c.records))
	maps.Copy(records, c.records)
	c.mu.Unlock()
	for a, rec := range records {
		if c.leads(rec, id) {
			c.Evict(a, "corrupt")
		}
	}
}

// Flip damages the stored bytes of an object, so that reading it fails.
func (c *Cache) Flip(id digest.ContentID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if data, ok := c.objects[id]; ok {
		damaged := append([]byte{}, data...)
		if len(damaged) == 0 {
			damaged = []byte{0}
		}
		damaged[len(damaged)/2] ^= 1
		c.objects[id] = damaged
	}
}

var errFound = errors.New("found")

func (c *Cache) leads(rec *cache.Record, id digest.ContentID) bool {
	for _, v := range rec.Outputs {
		if v.Ref.ID == id {
			return true
		}
		if v.Ref.Kind != cache.Tree {
			continue
		}
		err := tree.Walk(context.Background(), c, v.Ref, func(_ string, e tree.Entry) error {
			if e.ID == id {
				return errFound
			}
			return nil
		})
		if err != nil {
			return true
		}
	}
	return false
}
