// Package faulty wraps a cache so that it fails as real ones do: reads that are
// short, wrong or fail half-way, a full disk, a process that dies before it
// publishes. It keeps the contracts of package cache: wrong bytes are reported as
// cache.ErrCorrupt and never returned as content, and content that was not
// committed does not exist. It is for tests of code that uses a cache.
package faulty
