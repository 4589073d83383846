// Package index is the index of a local cache: which record belongs to an action,
// when it was last used, and why it was dropped. The section "The index" of
// FORMAT.md in cache/disk is its format on disk.
//
// # Vocabulary
//
//   - The log is an append-only file of frames.
//   - A frame is one line with a checksum: a record, a tombstone or uses.
//   - An entry is the place of a record in the log and the time of its last use.
//   - The summary is everything in memory: the entries and the tombstones.
//
// # Invariants
//
//   - A line is added by one write while Config.Hold excludes other writers. A torn
//     line is skipped, and costs only itself.
//   - A later frame of an action replaces an earlier one. Drop drops a record only
//     if it is still at the offset where the caller saw it.
//   - The log is never truncated. It is replaced as a whole, by rename.
//   - Config.Changes increases after every change, so that Refresh needs no system
//     call while nothing changes.
//
// The package knows no objects: whether the content of a record exists is the
// caller's concern. It takes no locks of files by itself.
package index
