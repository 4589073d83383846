// Package document reads and writes JSON as Python's json module does: the
// order of members is kept, whole numbers keep every digit, other numbers are
// doubles written as Python's repr, NaN and Infinity are allowed, and text is
// written in ASCII with \u escapes.
//
// A Value that was read refers to its bytes in the file's text and is taken
// apart only where it is asked for, so a large file costs little more than its
// own size. Values are immutable.
//
// Oracle: the json module of CPython 3.11.
package document
