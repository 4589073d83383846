// Package pyjson reads and writes JSON exactly as Python's json module does
// (json.load, json.dump). What pandas does instead is package ujson's, which
// has the values of this one.
//
// A Value keeps what Python keeps: the order of an object's keys, the
// difference between 1 and 1.0, integers of any size, and lone surrogates in
// strings, which a Go string holds in the three-byte form that UTF-8 would
// give them. A key that comes twice has its last value in its first place, as
// in a dict.
//
// Values are immutable: With, Select and Without return new objects that
// share their members.
//
// Reading refuses what Python refuses, with the line and column of the fault:
// control characters in strings, a byte order mark, bytes that are not UTF-8,
// anything after the value. NaN, Infinity and -Infinity are read and written.
// Nesting is limited to maxDepth.
package pyjson
