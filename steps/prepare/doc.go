// Package prepare is the step kind "prepare": a competition's raw data made
// into what agents see (public) and what grading compares with (private).
//
// The key holds the digest of the definition's prepare block with the values
// it refers to, the version of the interpreter, and the raw data's digest.
// Outputs are streamed into the store; a file that is copied from the raw data
// is the same blob there and is not read again.
package prepare
