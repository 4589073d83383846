// Package memory is a cache that lives in memory. It has the same contracts as
// cache/disk, without a disk. It is for tests of code that uses a cache, and
// for runs that keep nothing. It evicts nothing by itself.
package memory
