package agentrun

import (
	"context"
	"os"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// Limits of the code snapshots: for one copy, and for all distinct copies.
var (
	codeCaps = caps{bytes: 16 << 20, entries: 2000, depth: 16}
	allCode  = int64(512 << 20)
)

// codeSnapshots keeps copies of the agent's code. Whenever a snapshot of the submission
// is due and the code has changed, it takes one. It only reads, from outside the
// sandbox. A file that is being written is kept as it was read.
type codeSnapshots struct {
	*place
	shots
	// bytes is the total size of the copies.
	bytes int64
}

// openCodeSnapshots continues the list of an earlier process.
func openCodeSnapshots(ctx context.Context, p *place) (*codeSnapshots, error) {
	kept, err := openShots(ctx, p, codesFile, whole)
	c := &codeSnapshots{place: p, shots: kept}
	for _, one := range kept.list {
		c.bytes += one.Ref.Size
	}
	return c, err
}

// whole reports whether a tree that no record holds is still complete in the store.
func whole(ctx context.Context, store cache.Store, ref cache.Ref) bool {
	if !has(ctx, store, ref) {
		return false
	}
	entries, err := tree.Read(ctx, store, ref)
	for _, e := range entries {
		if e.IsDir() && !whole(ctx, store, e.Ref()) || !e.IsDir() && !has(ctx, store, e.Ref()) {
			return false
		}
	}
	return err == nil
}

// take keeps the current code, unless it equals the last copy.
func (c *codeSnapshots) take(ctx context.Context) error {
	left := min(allCode, c.storable()) - c.bytes
	if len(c.list) >= maxSnapshots || left <= 0 {
		return nil // what there is shows the beginning; the end is the output "code"
	}
	at := int64(c.elapsed().Seconds())
	home, err := os.OpenRoot(c.dirs.home)
	if err != nil {
		return err
	}
	defer home.Close()
	h := &harvester{store: c.env.Store, mask: c.mask, budget: left, live: true, taken: func(int64) {}}
	var b tree.Builder
	if _, err := h.harvest(ctx, home, kept{name: "code", caps: codeCaps}, &b); err != nil {
		return err
	}
	ref, err := b.Build(ctx, c.env.Store)
	if err != nil {
		return err
	}
	if ref.Files == 0 || len(c.list) > 0 && c.list[len(c.list)-1].Ref.ID == ref.ID {
		return nil
	}
	c.bytes += ref.Size
	c.phases.note(step.Running, func(now *step.Phase) { now.Code = ref })
	return c.add(shot{Seconds: at, Ref: ref})
}

// tree builds the output "code_snapshots".
func (c *codeSnapshots) tree(ctx context.Context) (cache.Ref, error) {
	return c.build(ctx, c.env.Store, "")
}
