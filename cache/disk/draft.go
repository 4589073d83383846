package disk

import (
	"context"
	"fmt"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// drafts are objects that this process stored first, for one owner each. The bits of the
// lease cannot tell them apart from what else the process uses.
type drafts struct {
	mu   sync.Mutex
	list map[digest.ContentID]draft
}

type draft struct {
	owner any
	// shared means that somebody else has stored or looked for the object since.
	shared bool
}

// begin makes an object a draft before it gets its name, where others may find it. The
// function that it returns is called with whether the object was new.
func (d *drafts) begin(ctx context.Context, id digest.ContentID) (end func(fresh bool)) {
	owner := cache.DraftsOf(ctx)
	if owner == nil {
		d.claim(ctx, id)
		return func(bool) {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.list[id]; known {
		return func(bool) { d.claim(ctx, id) }
	}
	if d.list == nil {
		d.list = map[digest.ContentID]draft{}
	}
	d.list[id] = draft{owner: owner}
	return func(fresh bool) {
		if !fresh {
			d.forget(id)
		}
	}
}

// claim makes a draft of another owner shared.
func (d *drafts) claim(ctx context.Context, id digest.ContentID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if was, ok := d.list[id]; ok && was.owner != cache.DraftsOf(ctx) {
		d.list[id] = draft{was.owner, true}
	}
}

func (d *drafts) forget(id digest.ContentID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.list, id)
}

// of returns the drafts of an owner and whether each is shared.
func (d *drafts) of(owner any) map[digest.ContentID]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := map[digest.ContentID]bool{}
	for id, one := range d.list {
		if one.owner == owner {
			list[id] = one.shared
		}
	}
	return list
}

// Prune implements cache.Drafter. It follows the rules of a collection, except that the
// process's own bits do not keep the drafts.
func (c *Cache) Prune(ctx context.Context, keep ...cache.Ref) (map[digest.ContentID]bool, error) {
	owner := cache.DraftsOf(ctx)
	if owner == nil || c.readOnly || len(c.objects.drafts.of(owner)) == 0 {
		return nil, nil
	}
	g, end, err := c.collector(ctx)
	if err != nil {
		return nil, fmt.Errorf("remove superseded content: %w", err)
	}
	defer end()
	gone, err := g.prune(c.objects.drafts.of(owner), keep)
	if err != nil {
		return gone, fmt.Errorf("remove superseded content: %w", err)
	}
	return gone, nil
}

// prune removes those of the drafts that nothing leads to.
func (g *collector) prune(drafts map[digest.ContentID]bool, keep []cache.Ref) (gone map[digest.ContentID]bool, err error) {
	if err := g.markAll(); err != nil {
		return nil, err
	}
	others, err := g.c.leases.others()
	if err != nil {
		return nil, err
	}
	for _, ref := range keep {
		if err := g.marks.add(ref); err != nil {
			return nil, err
		}
	}
	// What a draft in use leads to is marked before anything is removed.
	for id, shared := range drafts {
		if !shared && !others.uses(id) {
			continue
		}
		kind, err := g.c.objects.kindOf(id)
		if err == nil {
			err = g.marks.add(cache.Ref{Kind: kind, ID: id})
		}
		if ignoreMissing(err) != nil {
			return nil, err
		}
	}
	var ids []digest.ContentID
	for id := range drafts {
		if !g.marks.marked(id) {
			ids = append(ids, id)
		}
	}
	err, gone = g.remove(ids), map[digest.ContentID]bool{}
	for _, id := range ids {
		if _, bad := g.c.objects.stat(id, false); bad != nil && ignoreMissing(bad) == nil {
			g.c.objects.drafts.forget(id)
			gone[id] = true
		}
	}
	return gone, err
}
