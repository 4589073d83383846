// Package tree keeps folders in a content-addressed store.
//
// A tree is one directory. Its canonical encoding is text, one line an entry,
// sorted by the bytes of the name:
//
//	mleflow tree 1
//	f 3121 <sha256> train.csv
//	x 87 <sha256> run.sh
//	d 73400 200 <sha256> images
//
// f is a file and x an executable file, with size and digest; d is a
// subdirectory, with the bytes and number of files below it and the digest of
// its own encoding. In names a backslash is written \\ and a line feed \n;
// every other byte stands for itself. Nothing else is allowed: no other
// order, spacing, number format or escape. So equal directories have equal
// encodings, and the SHA-256 of the encoding is the tree's identity. The
// encoding is kept in the store as an object of its own, which makes equal
// subdirectories one object and a changed file cost one line a level.
//
// Modification times, owners and every permission but the executable bit are
// left out on purpose: they do not belong to the content. Links, devices,
// sockets and pipes cannot be expressed. Names are one safe path element: not
// empty, not "." or "..", at most 255 bytes, without "/" and NUL. A tree
// can therefore never name anything outside the folder it is written to.
//
// Import stores a folder, a Builder assembles a tree from content that is in
// the store already, Walk, Find and FS read one, and Materialise writes one
// to disk.
package tree
