package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// localRecords returns the chosen records of the local cache.
func localRecords(ctx context.Context, t *remote.Tier, f transferFlags, args []string) ([]*cache.Record, error) {
	if t.Location().ReadOnly {
		return nil, app.Usagef("cache push: %s is opened with mode=read", t.Location())
	}
	c := t.Cache
	items, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	if f.run != "" {
		args = []string{f.run}
	}
	var ids []digest.ActionID
	for _, item := range items {
		if f.all {
			ids = append(ids, item.Action)
		}
	}
	for _, arg := range args {
		found, err := pinned(ctx, c, arg)
		if err == nil && found == nil {
			found, err = actionsOf(c, items, arg)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	var recs []*cache.Record
	seen := map[digest.ActionID]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		rec, err := c.Lookup(ctx, id)
		if errors.Is(err, cache.ErrNotFound) || err == nil && rec.Final() == nil {
			continue // evicted meanwhile, or provisional, which is for this machine only
		}
		if err != nil {
			return nil, fmt.Errorf("cache push: %w", err)
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// pinned returns the actions of a pin, or nil if there is none of that name.
func pinned(ctx context.Context, c *disk.Cache, name string) ([]digest.ActionID, error) {
	pins, err := c.Pins(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(pins, func(p disk.Pin) bool { return p.Name == name })
	if i < 0 {
		return nil, nil
	}
	return pins[i].Actions, nil
}
