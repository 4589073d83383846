// Package jsontoken splits a JSON text into tokens with their positions. It is
// for readers that want the bytes of a value rather than the value: where a
// message ends, which bytes an id occupies.
//
// It is a lexer, not a parser. A word is anything that is neither a string nor
// punctuation, such as Python's NaN, and duplicate names are kept. Text that is
// not JSON still gives tokens, which cover everything but white space: a reader
// that needs valid JSON checks it first.
//
// Time grows linearly with the size of the text, and memory does not grow.
package jsontoken
