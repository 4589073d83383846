// Package bson reads and writes files of BSON documents one after the other,
// as mongodump and pymongo do (bsonspec.org, version 1.1).
//
// # Vocabulary
//
//   - A Document is the bytes of one document, its length first. It is never
//     turned into a tree of values: what is asked of it is looked up in the
//     bytes.
//   - An Element is a field of a document: type, name and the bytes of the
//     value.
//   - A document is clean when pymongo would write the same bytes after it
//     read them: _id comes first, no name stands twice, members of arrays are
//     numbered, no type is out of use.
//
// # Invariants
//
//   - A Reader holds one document. A length that the file does not back asks
//     for no memory.
//   - Whatever the bytes, nothing panics: lengths, terminators, UTF-8, nesting
//     and the values of conditions and dates are checked by Append.
//   - Append writes clean documents only.
//
// # Refused input
//
// Documents nested deeper than MaxDepth, unknown types, dates outside the
// years 1 to 9999 (which Python cannot hold).
package bson
