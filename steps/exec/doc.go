// Package exec is the step kind "exec": any command with declared inputs and
// outputs, run once and kept.
//
// The command runs in an empty folder. Inputs appear below inputs/, read-only
// and linked into the cache where the file system can; outputs are the paths
// that the block declares, collected when the command ends with status 0. The
// environment is what the block declares plus PATH, HOME and TMPDIR.
//
// The key holds the command's words, not the program behind them: that the
// same words give the same bytes is what the author of the block promises. A
// tool whose version matters belongs into the environment or the inputs.
//
// A command that changes a linked input would damage the cache. After every
// run the linked files are checked; a changed one fails the step, and the
// store sets the damaged object aside.
package exec
