// Package matlab empties members of MATLAB files (MAT-file format 5, which
// MATLAB has written since version 5 and, compressed, since 7), so that what
// they say is gone and everything else stays.
//
// # Vocabulary
//
//   - An element is a tag, the type and the number of bytes, and these bytes. A
//     file is a head and elements, each an array or a compressed array.
//   - A path names a variable, or a field of one that is a struct: "Video",
//     "Video.Labels".
//
// # Refused input
//
// Files of format 4 and of format 7.3, which is HDF5; a file that is cut off or
// whose numbers do not fit together; a path that the file does not have. No
// input makes it panic.
package matlab
