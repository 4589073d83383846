// Package cache has the command cache.
package cache
