// Package kit helps the author of a competition: it writes a skeleton (New),
// looks for mistakes in a definition and in what it prepared (Lint,
// LintPrepared), and tries the grader on submissions whose outcome is known
// (Test).
//
// A Finding is something that looks wrong, with its place where it has one. A
// Check is a submission that was tried. Neither changes the competition.
package kit
