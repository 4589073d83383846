// Package xlsx reads sheets of Excel files as CSV.
//
// A workbook is a zip file of XML parts: strings and styles, to which the cells of all
// sheets refer by number, and a part for each sheet.
//
// Workbooks are written by others, so their bounds are checked while they are read: the
// bytes of all parts, the place of every cell, and the cells of a sheet up to its last row
// and column. The size that a sheet claims is ignored. Entities are those of XML only.
//
// Formulas are not computed: what Excel stored counts. Macros, encrypted files and the
// older format .xls are not read.
package xlsx
