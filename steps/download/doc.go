// Package download is the step kind "download": the raw data of a competition as a
// tree.
//
// The data come from the source that the competition declares, from a local folder or
// archive (from), or from the step's source block. An archive is unpacked straight into
// the store and does not become an object itself: it is read in place or from the
// unfinished download, which is deleted once the archive's entries are stored. The
// archive's digests and size stay in the output files. Archives among the raw data that
// the competition's prepare block extracts become folders of the same name; others stay
// as they are. Data that do not match a pin fail the step as a checksum mismatch. Local
// data have no pin here, but the data prepared from them have.
//
// A killed step continues where it stopped: with the bytes that it fetched, and with
// the entries that it stored, which a journal in the store lists.
//
// The key contains pins and, for local files without a pin, their content, but not the
// source of the data.
package download
