// Package download is the step kind "download": the raw data of a competition
// as a tree.
//
// Where they come from is what the competition declares, or a local folder or
// archive (from), or the source block of the step. Archives are unpacked into the store as they are read; archives
// inside an archive stay what they are, for preparation to unpack. What does
// not match a pin fails the step as a checksum mismatch; local data have no pin
// here, what is prepared from them has.
//
// The key holds pins, and for local files without a pin their content; where
// the data come from is not in it.
package download
