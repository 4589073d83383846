package disk

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/mleflow/mleflow/cache/digest"
)

// LockAction implements cache.Locker. Two actions whose digests share their
// first 62 bits would wait for each other, which costs time and nothing else.
func (c *Cache) LockAction(ctx context.Context, id digest.ActionID) (func(), error) {
	if err := c.writing("lock action"); err != nil {
		return nil, err
	}
	f, err := c.openLock("actions")
	if err != nil {
		return nil, fmt.Errorf("lock action %s: %w", id.Short(), err)
	}
	at := int64(binary.BigEndian.Uint64(id[:8]) >> 2)
	err = poll(ctx, func() (bool, error) { return lockRange(f, at) })
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock action %s: %w", id.Short(), err)
	}
	return func() { _ = f.Close() }, nil
}
