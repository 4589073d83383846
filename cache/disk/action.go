package disk

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/mleflow/mleflow/cache/digest"
)

// LockAction implements cache.Locker. Locks are byte ranges at offsets of 62
// bits, taken from the digest. Two actions whose digests share these bits wait
// for each other, which only costs time.
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
