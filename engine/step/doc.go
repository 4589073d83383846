// Package step is the contract between the engine and the kinds of steps.
//
// A Kind is data: a name, a version, a schema of arguments, a list of outputs
// and a constructor. The engine decodes a step block by the schema, hashes
// every argument that can change bytes into the action's key, and runs the
// step only when no record of that key exists. A kind knows nothing of plans,
// schedules, files of the pipeline or other kinds; the engine knows no kind by
// name.
//
// # What is in the key
//
// The kind's name and version; every argument in schema order, content by its
// digest, but those marked Cosmetic; then whatever the step adds itself by
// implementing Fingerprinter (the definition of a competition, say); and the
// conditions, one field a key, where there are any. An
// argument that changes bytes must never be Cosmetic. Bump Version when the
// same inputs give other bytes than before.
//
// # Secrecy
//
// An Output is Private, Public or inherits: private if anything the instance
// consumed is private. An Untrusted kind may not consume a private value; the
// engine refuses such a pipeline before anything runs. What is Withheld is for
// people and as private to untrusted kinds; a model block may replay it.
//
// # Conditions
//
// A step that is Conditioned says under what conditions its results are
// obtained. The engine passes them on to everything that is made from them, so
// that no author of a pipeline can forget or lose them.
//
// # Failure
//
// Run returns an error for what went wrong. Wrapped by Retryable the engine
// tries again; wrapped by Mismatch the process exits with the status of a
// checksum mismatch. An agent's bad submission is no error: it is a result.
package step
