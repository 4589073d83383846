// Package disk is the local cache: a cache.Store and a cache.Index in one
// folder, for any number of processes at once and without a daemon. FORMAT.md
// next to this file is the written on-disk format.
//
// # Vocabulary
//
//   - An object is a read-only file named by its SHA-256. It is sealed: the
//     nanoseconds of its modification time are derived from its name, so that
//     one stat tells whether anybody wrote to it since it was published.
//   - The index log is an append-only file of records, tombstones and uses.
//   - A lease is a locked file of a live process that marks what it uses.
//   - The quarantine holds objects that were found corrupt.
//
// # Invariants
//
//   - Objects are published by link or rename from a temporary file that is
//     complete: no name ever stands for half an object.
//   - A line of the index is written with one write under a lock and carries
//     a checksum. A torn line is skipped, and costs only itself.
//   - A record is dropped before the objects it names. An object that a live
//     process looked up, wrote or found present is not removed.
//   - After kill -9 nothing needs repair. After the machine went down without
//     a clean end, the next Open verifies what was written since the last
//     sync, before anybody sees it.
//
// The package does not know trees beyond following them (cache/tree), runs
// no background work but syncing and clearing what dead processes left, and
// never asks the network.
package disk
