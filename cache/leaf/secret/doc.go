// Package secret resolves references to secrets (Ref) and masks their values in
// strings, JSON documents and streams (Set, Writer), for what people read. What
// counts is never changed: a Guard only looks for secrets in it. It is a leaf, used by
// the run history for the values of sensitive variables and by steps for the secrets they
// resolve.
//
// Only a value that can be a credential is hidden (Weak): as it is, with any of its
// characters escaped as in a URL, JSON or a program, and in UTF-16, hexadecimal,
// base64 and base32. A value that was changed on purpose, by reversing it for
// instance, is not: anyone who may read a secret can pass it on.
package secret
