// Package digest defines the identities everything in mleflow is known by:
// the content of a blob or tree (ContentID) and the definition of a piece of
// work (ActionID). Both are SHA-256 sums, and two distinct types, so that one
// can never be passed where the other is meant.
//
// The Hasher turns the labelled inputs of an action into its ActionID. It
// keeps the labels and values it was given, so that a changed key can be
// explained field by field.
//
// The package is a leaf: it imports the standard library only, does no I/O
// and holds no global state.
package digest
