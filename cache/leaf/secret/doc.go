// Package secret resolves references to secrets (Ref) and masks their values in
// strings, JSON documents and streams (Set, Writer). It is a leaf, used by the
// ledger for the values of sensitive variables and by steps for the secrets they
// resolve.
//
// It hides a value as it is, trimmed, as JSON spells it and line by line, and in
// the encodings that programs commonly apply: URL encoding, hexadecimal and base64.
// It does not hide a value that was changed on purpose, by reversing it for
// instance: anyone who may read a secret can pass it on.
package secret
