// Package transform holds the verbs of a prepare block: plain functions over
// tables, columns and other rows, each in a file of its own with its
// documentation as data.
//
// # Vocabulary
//
//   - A verb is a named Go function with a description (Verb). Package
//     competitions/prep calls it from HCL; the types of its parameters say
//     what the language accepts.
//   - Rows are anything with a length from which rows can be taken: a table, a
//     column, a list of values, JSON records, an array. Verbs that only move
//     rows work on all of them.
//   - An operand is a column or one value; operators work cell by cell.
//   - Input is the data that a reading verb may read: the raw folder.
//
// # Invariants
//
//   - Verbs are pure: the same arguments give the same result, inputs are never
//     changed, no clock, no map order, no randomness but the seed given.
//   - A mistake is an error that says what was wrong with which argument;
//     nothing panics on data.
//   - Nothing is done per row by the interpreter: whatever walks rows is here,
//     compiled.
//
// The package knows no HCL and writes no files.
package transform
