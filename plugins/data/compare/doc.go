// Package compare says how two files differ, so that a wrong checksum explains
// itself. It does not decide whether a file is right: that is the digest's
// business.
//
// Files has both files' bytes; WithSummary has the new bytes and a Summary of
// the old ones, which is small enough to be kept next to a pin.
//
// A table is a CSV, TSV, JSON lines or JSON file (an array of objects), by its
// name. Its rows are counted from 1, without the header. Two cells are equal
// when their strings are, when both are numbers of the same double (1, 1.0 and
// 1e0), or when pandas reads both as missing. Numbers with leading zeros are
// strings, since they may be identifiers; so are integers of more than 15
// digits.
//
// Tables are read as streams: memory grows with the longest record and the
// number of columns only. What is not read as a table, or has longer records
// than MaxRecord or more columns than MaxColumns, is compared byte by byte.
package compare
