package memory

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

// keeping holds the kept folders by key; Cache.mu guards it.
type keeping struct {
	held map[string]chan struct{}
	dirs map[string]string
}

// Keep implements cache.Keeper for the users of c, in the system's folder of
// temporary files.
func (c *Cache) Keep(ctx context.Context, key string) (string, func(keep bool) error, error) {
	done, err := acquire(ctx, &c.mu, c.keeping.held, key)
	if err != nil {
		return "", nil, fmt.Errorf("keep work folder %q: %w", key, err)
	}
	dir, err := c.keptDir(key)
	if err != nil {
		done()
		return "", nil, fmt.Errorf("keep work folder %q: %w", key, err)
	}
	released := false
	return dir, func(keep bool) error {
		if released {
			return nil
		}
		released = true
		defer done()
		if keep {
			return nil
		}
		c.mu.Lock()
		delete(c.keeping.dirs, key)
		c.mu.Unlock()
		return tree.Remove(dir)
	}, nil
}

func (c *Cache) keptDir(key string) (dir string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir, ok := c.keeping.dirs[key]
	if !ok {
		if dir, err = os.MkdirTemp("", "mleflow-kept-"); err == nil {
			c.keeping.dirs[key] = dir
		}
	}
	return dir, err
}

// Kept implements cache.Keeper.
func (c *Cache) Kept(context.Context) ([]cache.Kept, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var list []cache.Kept
	for _, key := range slices.Sorted(maps.Keys(c.keeping.dirs)) {
		_, held := c.keeping.held[key]
		list = append(list, cache.Kept{Key: key, Dir: c.keeping.dirs[key], Held: held})
	}
	return list, nil
}
