// Package faulty wraps a cache so that it fails as the world does: reads that
// are short, wrong or fail half-way, a disk that is full, a process that dies
// before it publishes. It keeps the contracts of package cache: wrong bytes
// come out as cache.ErrCorrupt and never as content, and what was not
// committed is not there. It is for tests of what stands on a cache.
package faulty
