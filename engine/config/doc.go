// Package config reads the pipeline language: it is the only reader of
// pipeline files.
//
// Loading goes in two stages. Load parses and checks the file alone: block
// types, arguments by the schema of each step kind, references, cycles.
// Expand evaluates it with the values of its variables into instances, each
// with its arguments and the instances it depends on.
//
// # How dependencies are found
//
// Every output of every instance enters evaluation with a mark that says
// where it came from; marks survive any expression. The marks found on an
// instance's arguments are its dependencies, exact to the instance, and tell
// which of them are private.
//
// An output that is content (a blob or tree) is an opaque, known value; only
// small values (a score, a text) are unknown until the producing step ran.
// So most arguments are evaluated once. Those that do depend on a small value
// are evaluated again when it is known (Graph.Args).
//
// # What it refuses
//
// Anything not in the schemas, references to what does not exist, for_each
// over values known only after a run, private outputs consumed by untrusted
// kinds, sensitive variables in anything that is stored.
package config
