// Package source fetches the raw data of competitions.
//
// # Vocabulary
//
//   - A Spec says where data lie and what they must be (pins).
//   - A Source is a kind of place: a local file or folder, an address on the
//     web. It stores what it fetches and says what it is.
//   - A pin is the SHA-256 or MD5 of a whole file, as published.
//
// # Invariants
//
// Bytes are hashed while they arrive; what does not match a pin is ErrMismatch
// and is not given to anyone. A fetch that was cut off goes on where it
// stopped, in another attempt or another process, when the source can prove
// that the file is still the same. Fingerprint reads no network.
package source
