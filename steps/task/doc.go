// Package task is the step kind "task": the texts that tell an agent what to
// do, the description of the competition and the general instructions.
//
// Those of the reference are never kept with us. Their digests are pinned, and
// they are looked for, in this order,
//
//   - in the folder that is adopted (--adopt): a data directory of the
//     reference, where <id>/prepared/public/description.md is the description,
//     or a checkout of its repository;
//   - on the mirror (--mirror): a folder, an address of the web or of object
//     storage, with the files in the same two layouts;
//   - at the pinned address.
//
// The first place that has a file decides: if its digest is not the pinned one,
// the step fails as a checksum mismatch. The key holds the digests, never the
// place.
//
// The task "own" is the short description of the definition with instructions
// of our own, and needs no place.
package task
