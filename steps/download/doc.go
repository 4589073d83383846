// Package download is the step kind "download": the raw data of a competition
// as a tree.
//
// The data come from the source that the competition declares, from a local
// folder or archive (from), or from the step's source block. An archive is
// unpacked straight into the store and does not become an object itself: it is
// read from the unfinished download, or in place, and the download is deleted
// once its entries are stored. Its digests and size stay in the output files.
// Archives among the raw data that the competition's prepare block extracts
// become folders of the same name; others stay as they are. Data that do not
// match a pin fail the step as a checksum mismatch. Local data have no pin
// here; what is prepared from them has.
//
// A step that was killed continues where it was: with the fetched bytes, and
// with the stored entries, which a journal in the store lists.
//
// The key contains pins and, for local files without a pin, their content, but
// not where the data come from.
package download
