// Package image builds container images without Docker: from a base (an OCI layout or
// archive, an image pinned by its digest, or a root file system), files of the host,
// commands that run in a container, and a configuration.
//
// # Vocabulary
//
//   - A Recipe describes an image. Its Key is the digest of all its inputs,
//     including the contents of its files and the digest of its base.
//   - A Builder builds images and keeps them in a folder by key: a recipe that
//     was built is not built again.
//   - A Machine runs the commands and fetches bases; the containerd runtime is
//     one. Recipes without commands, whose base is a file or nothing, need none.
//
// Beside that, it has what the runtimes with images share: the names of images (Ref), how
// their content is fetched and counted, and copied to mounts.
//
// # Invariants
//
// The result is an OCI layout, a folder that the containerd runtime accepts as an
// image. Without commands it is the same to the bit wherever it is built: owners are
// root, times are the epoch, and entries are sorted. Files that commands write are kept
// unchanged except for their times. Two runs of a command may differ, which is why
// results are kept rather than built again.
package image
