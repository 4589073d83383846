// Package confined grades submissions, and checks their form, in a process of
// their own: the running program started again, with limits on its memory and
// its processor time. A submission comes from a stranger, and whatever it does
// to the process that reads it, the worst is one submission that is invalid,
// with a reason.
//
// # Vocabulary
//
//   - The child is the process: "mleflow judge", which serves one question
//     and ends. It has no environment and no files but pipes, and ends when
//     the process that asked does.
//   - A small submission is one that this process reads itself, since the
//     little it can take is bounded by its size: at most 256 KiB, in lines of
//     at most 4,096 fields, of a competition whose metric takes time in
//     proportion to the cells.
//
// # Invariants
//
//   - The limits are fixed numbers next to the size of the answers, or of the
//     sample submission, so that a verdict does not depend on the machine. A
//     child that the machine has no memory for is an error, not a verdict.
//   - A child says of a submission what grading.Local says, byte for byte,
//     within the limits.
//
// Outside Linux the child has no limits.
package confined
