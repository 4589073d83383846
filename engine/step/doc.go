// Package step is the contract between the engine and the kinds of steps.
//
// A Kind is data: a name, a version, a schema of arguments, a list of outputs
// and a constructor. Attrs and Blocks read the schema from the struct that
// receives the arguments. The engine decodes a step block by the schema and hashes
// every argument that can change bytes into the action's key. It runs the step
// only if no record with that key exists. A kind knows nothing about plans,
// schedules, files of the pipeline or other kinds. The engine knows no kind by
// name.
//
// # What is in the key
//
// The key consists of the kind's name and version; every argument in schema
// order except Cosmetic ones, with content represented by its digest; the
// fields added by a Fingerprinter, such as the definition of a competition; and
// one field per condition, if there are any. An argument that changes bytes
// must never be Cosmetic. Bump Version if the same inputs produce different
// bytes than before.
//
// # Secrecy
//
// An Output is Private, Public, or inherits: it is private if anything that the
// instance consumed is private. An Untrusted kind may not consume a private
// value. The engine refuses such a pipeline before anything runs. A Withheld
// output is for people and is private to untrusted kinds, but a model block may
// replay it.
//
// # Conditions
//
// A Conditioned step reports the conditions under which its results are
// obtained. The engine passes them on to everything made from these results, so
// that no author of a pipeline can forget or lose them.
//
// # Failure
//
// Run returns an error if it fails. The engine retries an error wrapped by
// Retryable. An error wrapped by Mismatch makes the process exit with the
// status of a checksum mismatch. An agent's bad submission is not an error but
// a result.
package step
