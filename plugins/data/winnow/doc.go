// Package winnow finds copied code by winnowing: Schleimer, Wilkerson and
// Aiken, Winnowing: Local Algorithms for Document Fingerprinting, SIGMOD 2003.
//
// # Method
//
// Code becomes a stream of normalised tokens (see normalise): names that the
// code gives itself are all the same, and so are literals; comments,
// docstrings, imports and calls of print are dropped. What a library is asked
// for, such as .groupby, stays. Every Gram consecutive tokens are hashed, and
// of every Window consecutive hashes the smallest is kept, the rightmost if
// there are several. Kept hashes are the fingerprints. A common run of at least
// Gram + Window - 1 tokens has a common fingerprint; one of fewer than Gram has
// none. Grams of fewer than Distinct different tokens, such as tables of
// settings, say nothing about their origin and are not kept.
//
// # Measures
//
// Containment of A in B is the share of A's fingerprints that B has. It is told
// in both directions, since a symmetric measure hides half a file that was
// copied into a long one. Fingerprints that many documents of the database
// share are boilerplate and do not count on either side.
//
// # Limits
//
// The package tells where code agrees; it does not tell who copied from whom,
// or that anybody did. Code that was rewritten statement by statement is not
// found.
package winnow
