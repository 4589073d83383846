// Package secret keeps the values of secrets out of what is written: texts,
// documents of JSON and streams. It is a leaf, used by the ledger for the
// values of sensitive variables and by steps for the secrets they resolve.
//
// It hides a value as it is, trimmed, as JSON spells it and line by line. It
// does not hide a value that was changed on purpose, by base64 for instance:
// whoever may read a secret can pass it on.
package secret
