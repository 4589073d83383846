// Package source fetches the raw data of competitions.
//
// # Vocabulary
//
//   - A Spec says where data are and what they must be (pins).
//   - A Source is a kind of place: a local file or folder, an address on the
//     web. It stores what it fetches and says what it is.
//   - A pin is the SHA-256 or MD5 of a whole file, as published.
//   - A version is one content of an address, as the server names it: by a
//     strong ETag, a date, an MD5.
//   - A part is a run of bytes that one request fetches. An origin is the
//     address that is named; it may lead to another, which is signed and
//     expires.
//   - A sink takes the bytes in order and hashes them.
//
// # A download
//
// transfer.go asks what there is, opens the sink of that version, and fetches
// what it lacks: parts.go by several connections at once, of which one writer
// takes the parts in order, or in one piece where nothing proves that parts
// belong together. How far a download is can so be read from its ingest alone,
// and memory is bounded by connections and the size of a part. flow.go reads a
// body under the cap, gives up on one that is too slow, and repeats requests,
// version.go says whether an answer is a part of the version and no other.
//
// # Invariants
//
// Bytes are hashed while they arrive; what does not match a pin is ErrMismatch
// and is not given to anyone. A fetch that was cut off continues where it
// stopped, in another attempt or another process, when the source can prove
// that the file is still the same. Bytes of two versions are never mixed: a
// file that changes is fetched again from scratch, and an answer that
// contradicts itself or what was asked for is not used. A credential goes to
// the host it is for and to no other, and is in no key, log or error.
// Fingerprint reads no network.
package source
