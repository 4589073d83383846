// Package results knows what an attempt is, which attempts can be compared, how each
// ended and what it cost. Every surface asks it and only lays out what it says.
//
// An Attempt is one run of an agent at a competition with one seed, or a submission
// that a step graded. Its key identifies it: an attempt that several runs have is one
// (Distinct). Ended, NoScore and Reason say in the words of all surfaces how it ended and
// why it has no score; Usage is what it spent, and who says so.
//
// Attempts can be compared within a Class: the same data, version of the competitions,
// task and conditions. Comparable takes those of one class and says what it set aside and
// why. Compare compares two agents there, in one sentence and in figures, which are those
// of package board.
package results
