// Package pins compares prepared data with a competition's pins and reports the
// differences. The checksum step, the verb prepare and the verb competition
// lock all use it; there is no other check.
//
// # Checks
//
// The MD5 of each pinned file, and the digest of the folder that holds public/
// and private/ as a tree (package cache/tree), which changes when the path, the
// bytes or the executable bit of any file does. Only these decide.
//
// # Explanations
//
// A mismatch is explained (package compare) by the first of these there is: a
// folder that is known to be right; the right files, if the cache still holds
// them; the summary of the file in the competition's manifest file.
//
// The manifest file is next to the definition under its ManifestName. It
// holds the tree of each folder, and a summary of each file in folders of at
// most MaxListed entries. Of a folder with more entries it has only the tree
// and the tables, so that it stays small for millions of images. It is written
// by Lock and never decides: one of another digest than the pinned one is not
// used, and the report says so.
package pins
