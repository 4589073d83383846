// Package verify compares prepared data with what a competition pins, and says
// what is wrong. The checksum step, the verb prepare and the verb competition
// lock all use it; there is no other check.
//
// # What is checked
//
// The MD5 of each pinned file, and the digest of the folder that holds public/
// and private/ as a tree (package cache/tree), which changes when the path, the
// bytes or the executable bit of any file does. Only these decide.
//
// # What explains
//
// A mismatch is explained (package compare) by the first of these there is: a
// folder that is known to be right; the bytes of the right file, if the cache
// still holds them; the summary of it in the competition's manifest file.
//
// The manifest file lies beside the definition under its ManifestName.
// It holds the tree of each folder, and a summary of each file in folders of at
// most MaxListed entries. A folder of more entries is known by its tree, with
// summaries of its tables and archives only, and what is below it not at all, so
// that the file stays small for millions of images. It holds no sums of parts of
// private files, from which answers could be guessed. It is written by Lock and never decides: one that is not of the pinned
// digest is not used, and that is said.
package verify
