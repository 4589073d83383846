// Package archive reads and packs zip, tar, tar.gz, tar.zst and 7z archives.
//
// # Vocabulary
//
//   - An entry is a file or a folder of an archive, with a slash-separated
//     relative name.
//   - Limits bound what an archive may make of its bytes.
//   - An Overlay lays archives over a folder, so that their entries are read
//     like files next to the others. A zip file is read in place; the other
//     formats are unpacked into a work folder first.
//   - A Packer writes an archive, entry by entry. Packed archives hold no
//     times, owners or random numbers: the same entries give the same bytes.
//
// # What it refuses
//
// Every name is checked before anything is written: absolute names, "..",
// backslashes, drive letters, control characters, names that occur twice or
// that are a file and a folder at once. Links, devices and encrypted entries
// are refused, as are entries that turn out longer than the archive says,
// entries of a zip file that share bytes (the usual bomb), archives with more
// entries or bytes than the limits allow, and trailing or truncated data. All
// of these are ErrUnsafe or ErrFormat; nothing is written outside the target.
//
// A tar archive may end without an end mark after an entry, as Python's tarfile
// and GNU tar have it. Sparse files are read with their holes filled.
package archive
