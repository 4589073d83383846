// Package harbor writes prepared competitions as task folders of Harbor.
//
// The agent's image has the public data only. Answers are in the verifier's image and in
// solution/. docs/training.md has the layout.
package harbor
