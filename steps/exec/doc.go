// Package exec is the step kind "exec": any command with declared inputs and
// outputs, run once and cached.
//
// The command runs in an empty folder. Inputs appear below inputs/, read-only
// and linked into the cache if the file system can; outputs are the declared
// paths, collected when the command ends with status 0. The environment is what
// the block declares plus PATH, HOME and TMPDIR.
//
// The key contains the command line, not the program: the author of the block
// promises that the same command line produces the same bytes. If the version
// of a tool matters, put it in the environment or the inputs.
//
// A command that changes a linked input would damage the cache. After every run
// the linked files are checked; a changed one fails the step, and the store
// sets the damaged object aside.
package exec
