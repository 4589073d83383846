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
// instance's arguments, limits and for_each are its dependencies, exact to the
// instance, and tell which of them are private. Private files and sensitive
// variables have marks, too.
//
// A value that is not known yet has the marks of all that may decide it: of
// the key of step.KIND.NAME[KEY] and of that output of every instance, of the
// condition and both results of a choice, of all elements of a filter. Where
// HCL drops marks, package bounded keeps them. try and can have the marks of
// what a failed expression read. So a step that waits for a later value
// depends on all that it may read from the start, and its readers are refused
// what is private in it before anything runs. Once the value is known, the
// step may turn out to read less. If it reads more, such as a private file
// whose path was not known, it is refused (Graph.Args).
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
// kinds, sensitive variables in anything that is stored, private content in
// addresses, output values and, unless it is asked for, what is published.
// Diagnostics do not quote the values of expressions that read a sensitive or
// private value.
package config
