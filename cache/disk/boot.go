package disk

import (
	"context"
)

func (c *Cache) recoverBoot() error                       { return nil }
func (c *Cache) syncIfMuch() error                        { return nil }
func (c *Cache) startCleaning(ctx context.Context)        {}
func (c *Cache) evict(ctx context.Context, n int64) error { return nil }
