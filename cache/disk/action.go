package disk

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/mleflow/mleflow/cache/digest"
)

// LockAction implements cache.Locker. Two actions whose digests share their
// first 62 bits would wait for each other, which costs time and nothing else.
func (c *folder) LockAction(ctx context.Context, id digest.ActionID) (func(), error) {
	if err := c.writing("lock action"); err != nil {
		return nil, err
	}
	unlock, err := c.lockPlace(ctx, int64(binary.BigEndian.Uint64(id[:8])>>2))
	if err != nil {
		return nil, fmt.Errorf("lock action %s: %w", id.Short(), err)
	}
	return unlock, nil
}
