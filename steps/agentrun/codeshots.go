package agentrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// What is kept of the code over time: of one copy, and of all different files
// together.
var (
	codeCaps = caps{bytes: 16 << 20, entries: 2000, depth: 16}
	allCode  = int64(512 << 20)
)

// codeSnapshots keeps the agent's code as it becomes, whenever a snapshot of the
// submission is due and the code has changed. It only reads, from outside. A file
// that is being written is kept as it was read.
type codeSnapshots struct {
	*session
	list  []shot
	notes *os.File
	// bytes is what the copies have together.
	bytes int64
}

// openCodeSnapshots reads the list that an earlier process made.
func (s *session) openCodeSnapshots(ctx context.Context) (*codeSnapshots, error) {
	c := &codeSnapshots{session: s}
	if s.every == 0 {
		return c, nil
	}
	var err error
	if c.notes, err = nolink.OpenFile(filepath.Join(s.dirs.host, "code_snapshots.jsonl"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	s.close = append(s.close, func(bool) error { return c.notes.Close() })
	data, err := io.ReadAll(c.notes)
	if err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	for line := range bytes.Lines(data) {
		var one shot
		if json.Unmarshal(line, &one) == nil && whole(ctx, s.env.Store, one.Ref) {
			c.list = append(c.list, one)
			c.bytes += one.Ref.Size
		}
	}
	return c, nil
}

// whole says whether all of a tree that no record holds is still in the store.
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

// take keeps the code as it is now, unless it is what was kept last.
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
	h := &harvester{store: c.env.Store, mask: c.mask.ForDocuments(), budget: left, live: true, taken: func(int64) {}}
	var b tree.Builder
	if _, err := h.harvest(ctx, home, "code", "", codeCaps, &b); err != nil {
		return err
	}
	ref, err := b.Build(ctx, c.env.Store)
	if err != nil {
		return err
	}
	if ref.Files == 0 || len(c.list) > 0 && c.list[len(c.list)-1].Ref.ID == ref.ID {
		return nil
	}
	one := shot{Seconds: at, Ref: ref}
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	c.list, c.bytes = append(c.list, one), c.bytes+ref.Size
	c.phases.note(step.Running, func(now *step.Phase) { now.Code = ref })
	_, err = c.notes.Write(append(line, '\n'))
	return err
}

// tree is the output "code_snapshots".
func (c *codeSnapshots) tree(ctx context.Context) (cache.Ref, error) {
	var b tree.Builder
	seen := map[int64]bool{}
	for _, one := range c.list {
		if seen[one.Seconds] {
			continue
		}
		seen[one.Seconds] = true
		if err := b.Add(fmt.Sprintf("%09d", one.Seconds), one.Ref, false); err != nil {
			return cache.Ref{}, err
		}
	}
	return b.Build(ctx, c.env.Store)
}
