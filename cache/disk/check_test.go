package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/tree"
)

// checkUnmodified returns an error that wraps cache.ErrCorrupt when a file of
// the tree or blob was written to since it was published, as a process can
// that was given links: one stat a file, and a read only of what looks
// changed. Objects that are wrong go to the quarantine, with their records.
func (c *Cache) checkUnmodified(ctx context.Context, ref cache.Ref) error {
	if ref.Kind != cache.Tree {
		_, err := c.reading.checkSealed(ctx, ref.ID, false)
		return err
	}
	var changed []error
	err := tree.Walk(ctx, c, ref, func(path string, e tree.Entry) error {
		err := c.checkEntry(ctx, e)
		if errors.Is(err, cache.ErrCorrupt) {
			if len(changed) < 10 {
				changed = append(changed, fmt.Errorf("%s was changed: %w", filepath.Clean(path), err))
			}
			return nil
		}
		return err
	})
	if err == nil {
		err = errors.Join(changed...)
	}
	if err != nil {
		return fmt.Errorf("check tree %s: %w", ref.ID.Short(), err)
	}
	return nil
}

func (c *Cache) checkEntry(ctx context.Context, e tree.Entry) error {
	if e.IsDir() {
		return nil
	}
	_, err := c.reading.checkSealed(ctx, e.ID, false)
	if err != nil || e.Type != tree.Executable {
		return err
	}
	f, err := c.objects.stat(e.ID, true)
	if errors.Is(err, os.ErrNotExist) || (err == nil && f.sealed(e.ID)) {
		return nil
	}
	if err != nil {
		return err
	}
	ok, err := c.objects.intact(e.ID, true)
	if err != nil || ok {
		return err
	}
	return errors.Join(cache.ErrCorrupt, c.objects.quarantine(e.ID, true))
}

// newest returns the newest record of an address, or cache.ErrNotFound.
func newest(c *Cache, address string) (*cache.Record, error) {
	var found *cache.Record
	err := c.records.eachRecord(context.Background(), func(rec *cache.Record, _ index.Entry) error {
		if rec.Address == address {
			found = rec
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, cache.ErrNotFound
	}
	return found, nil
}
