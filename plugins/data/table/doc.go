// Package table holds typed columns and reads and writes them as CSV exactly
// as pandas 2 does.
//
// # Vocabulary
//
// A Table is an ordered list of named columns of one length. A Column is
// immutable and has a Kind: Int64, Uint64, Float64, Bool, Text or Mixed. The
// kinds are those pandas infers for a CSV column; Mixed is its object column
// that holds values of several kinds. A Value is one cell.
//
// Missing values follow pandas: a Float64 cell is missing when it is NaN, a
// Bool, Text or Mixed cell may be missing, and Int64 and Uint64 columns never
// hold a missing cell (an integer column with a gap is a Float64 column, so
// that 5 is written "5.0").
//
// # Memory
//
// Column data are slices (strings as offsets and bytes).
// Take, Slice, Select, Rename and With share them: a table made by Take costs
// one 4-byte row number per row and nothing per column. Bulk accessors (Ints,
// Floats, …) return the stored slice where the column is a plain view and a
// copy otherwise; callers never write to either.
//
// ReadCSV stores integers that fit a byte, decimals of a few digits, and
// identifiers of hexadecimal digits in one, four, and eight or sixteen bytes;
// accessors return them at full width. It reads large files of few
// columns in small pieces, and again if pandas' chunks might give other kinds.
//
// ReadCSV with RetainLines holds the lines of a file as WriteCSV writes them, and makes
// a column's array when something asks for its values. Rows of such a table are
// written by copying lines, or fields of them; nothing is formatted again. With
// File, such lines stay in the file, and memory holds a few bytes a row. WriteCSV
// then reads the file again, once for each quarter of its rows that it writes.
//
// Sorting, concatenating and the bulk accessors of columns longer than a chunk
// need the whole column in memory; WriteCSV does not.
//
// # Refused input
//
// No input makes a reader panic: a file that is not a table gives an error
// that names line and, where there is one, column. Column names are unique in
// a table. A table holds at most 2^31-1 rows.
package table
