// Package cli is the command line: one file a verb, each an options struct, a
// constructor of the cobra command and a run function.
//
// The package wires the concrete parts together (registries, cache, run history)
// and maps errors to exit statuses in one place, exit.go. Results go to the
// standard output; diagnostics and progress go to the standard error. Flags
// may be written with one dash or two and anywhere on the line. help.txt has the
// long help of every command.
package cli
