// Package cache defines how mleflow keeps content and remembers work: the
// contracts of a content-addressed store of blobs and trees, and of the index
// that maps an action to the outputs it once gave.
//
// # Vocabulary
//
//   - A blob is a sequence of bytes, known by its SHA-256.
//   - A tree is one directory: a sorted list of entries (files by blob,
//     subdirectories by tree). Its identity is the SHA-256 of its canonical
//     encoding, which is itself kept as an object, so that a million files
//     stay cheap and equal subtrees are stored once.
//   - An action is a piece of work known by the digest of its inputs
//     (digest.ActionID). A Record says what outputs it gave.
//   - A tombstone is what is left of a record whose content was evicted.
//
// # Invariants
//
//   - An object in a Store has the content its name says; Open verifies while
//     reading and fails with ErrCorrupt before the last byte is believed.
//   - An object appears whole or not at all; a crash leaves only temporary
//     files, which the next clean-up removes.
//   - Everything reachable from a record in the Index is in the Store: content
//     is published before the record, and a record goes before its content.
//   - Several processes may use one cache at once.
//
// The package holds contracts and encodings only. cache/disk is the local
// implementation; cache/cachetest is the suite every implementation must pass.
package cache
