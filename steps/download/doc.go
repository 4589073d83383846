// Package download is the step kind "download": the raw data of a competition
// as a tree.
//
// Where they come from is what the competition declares, or a local folder or
// archive (from), or the source block of the step. An archive is unpacked
// straight into the store and is no object of it: it is read where the download
// wrote it, or where it lies, and goes when its entries are stored; its digests
// and size stay in the output files. Archives among the raw data that the
// competition's prepare block extracts become folders of the archive's own name;
// others stay what they are. What does not match a pin fails the step as a
// checksum mismatch; local data have no pin here, what is prepared from them has.
//
// A step that was killed goes on where it was: with the bytes that were fetched,
// and with the entries that were stored, of which a journal in the store tells.
//
// The key holds pins, and for local files without a pin their content; where
// the data come from is not in it.
package download
