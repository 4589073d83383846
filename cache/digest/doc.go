// Package digest defines the identities that mleflow uses for everything:
// ContentID for the content of a blob or tree, and ActionID for the definition
// of a piece of work. Both are SHA-256 sums, but distinct types, so that
// neither can be passed where the other is meant.
//
// The Hasher turns the labelled inputs of an action into its ActionID. It keeps
// the labels and values, so that a changed key can be explained field by field.
//
// The package is a leaf: it imports only the standard library, does no I/O and
// has no global state.
package digest
