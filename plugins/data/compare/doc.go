// Package compare says how two files differ, so that a wrong checksum explains
// itself.
//
// Files has both files' bytes; WithSummary has the new bytes and a Summary that
// was taken of the old ones, which is small enough to be kept beside a pin.
// Neither decides whether a file is right: that is the digest's business. They
// only explain.
//
// # Vocabulary
//
//   - A table is a CSV, TSV, JSON lines or JSON file (an array of objects), by
//     its name. Rows are counted from 1, without the header.
//   - Two cells are equal when their texts are, when both are numbers of the
//     same double (1, 1.0 and 1e0), or when pandas reads both as missing. Numbers
//     with leading zeros are texts, since they may be identifiers; integers of
//     more than 15 digits are compared digit by digit.
//   - Two files have equal content when bytes differ only in what a reader does
//     not see: its line ends, quotes, order of rows and so on.
//   - Archives have equal content when their members have the same names and
//     bytes; a gzip file when what it holds is equal.
//
// # Bounds
//
// Memory does not grow with a table's rows: files are read as streams. It grows
// with the longest record, the columns, and an archive's members; a table beyond
// MaxRecord or MaxColumns is compared as plain bytes. A Summary holds at most
// 64 blocks of rows and maxListed columns or members by name.
package compare
