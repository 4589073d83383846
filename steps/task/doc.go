// Package task is the step kind "task": the texts that tell an agent what to do, the
// description of the competition and the general instructions.
//
// The reference's texts are never part of this program. Their digests are pinned, and
// the texts are looked for, in this order,
//
//   - in the adopted folder (--adopt): a data directory of the
//     reference, where <id>/prepared/public/description.md is the description,
//     or a checkout of its repository;
//   - on the mirror (--mirror): a folder, or the address of a web server or of object
//     storage, with the files in either of these layouts;
//   - at the pinned address.
//
// The first place that has a file decides: if the file's digest is not the pinned one,
// the step fails as a checksum mismatch. The key contains the digests, never the place.
//
// The task "own" is the short description of the definition with our own instructions.
// It needs no place.
package task
