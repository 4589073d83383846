// Package proof has the commands by which a stranger checks results: bundle, verify,
// board, fingerprint.
package proof
