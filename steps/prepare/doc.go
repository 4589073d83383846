// Package prepare is the step kind "prepare": it turns a competition's raw data
// into what agents see (public) and what grading uses (private).
//
// The key contains the digest of the definition's prepare block with the values
// it refers to, the version of the interpreter, and the digest of the raw data.
// Outputs are streamed into the store; a file that is copied from the raw data
// is the same blob there and is not read again.
package prepare
