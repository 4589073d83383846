// Package image makes container images without Docker: from a base (an OCI
// layout or archive, an image pinned by its digest, a root file system), files of the host,
// commands that are run in a container, and a configuration.
//
// # Vocabulary
//
//   - A Recipe says what to make. Its Key is the digest of all its inputs, the
//     contents of its files and the digest of its base included.
//   - A Builder makes images and keeps them in a folder by their keys: a recipe
//     that was made before is not made again.
//   - A Machine runs the commands and fetches bases; the containerd runtime is
//     one. Recipes without commands, whose base is a file or nothing, need none.
//
// # Invariants
//
// The result is an OCI layout, a folder that the containerd runtime takes as an
// image. Without commands it is the same to the bit wherever it is made: owners
// are root, times the epoch, entries sorted. What commands write is taken as
// it is but for the times; two runs of a command may differ, which is why a
// result is kept rather than made again.
package image
