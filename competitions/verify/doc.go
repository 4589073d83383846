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
// The manifest file lies beside the definition under competitions.ManifestName.
// It holds a summary of each table, of each other file in folders of at most
// MaxListed files, and the tree of every folder above those. Folders of more
// files are known by their tree only, so that it stays small for millions of
// images. It is written by Lock and never decides: one that is not of the pinned
// digest is not used, and that is said.
package verify
