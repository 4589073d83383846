// Package remote is a cache on object storage (a store with the S3 protocol, or a
// folder) behind the local one: results of one machine are not computed again on
// others. FORMAT.md next to this file is the written format.
//
// # Vocabulary
//
//   - A Location is where a remote cache is: a bucket and a prefix.
//   - A Tier is a local cache with a remote one behind it. It is a cache.Store
//     and a cache.Index itself.
//   - A pack is one remote object that holds many small ones.
//   - A closure is a tree with everything below it; its marker is written when
//     all of it is stored.
//   - To fetch is to bring content here, to push is to store it there.
//
// # Invariants
//
//   - Content before its closure's marker, markers before the record. Whoever
//     finds a record of which all markers are there has a hit, else a miss.
//   - What comes from afar is hashed before it enters the local store, and a
//     record enters the local index when all it leads to is here.
//   - Writers need no lock: equal names have equal content.
//   - Nothing the remote does fails a step. It is tried again, with back-off,
//     a bounded number of times; then a lookup is a miss, an upload is left
//     undone, and the person is told once. Only push and pull, which are
//     about nothing else, return such errors.
//   - Lookup, which plan uses, never asks the network. It answers from the local
//     cache and from what the remote was last known to hold. Find asks.
//
// # What it does not do
//
// It does not remove what is old: that is left to the rules of the bucket. It
// does not encrypt or compress. It does not protect from somebody who may write
// to the bucket and lies about what an action gave.
package remote
