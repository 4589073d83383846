// Package grading scores a submission as a competition's grade block says,
// and compares it with the human leaderboard.
//
// # Vocabulary
//
//   - A plan is a decoded grade block: the metric with its parameters, the id
//     and target columns, and the requirements in the order of the file.
//   - A requirement is one attribute of a require block. Requirements are
//     checked in the order in which they are written; the first that does not
//     hold is the reason why a submission is invalid.
//   - Alignment pairs the rows of the submission with those of the answers.
//   - An outcome is scored, invalid (the agent's fault: no score) or missing
//     (no file). Whatever stops grading otherwise is an error of ours and
//     gives no report.
//
// # Invariants
//
//   - Tables are read as pandas reads them with round-trip floats; what the
//     reference's grader raises, invalid submission or not, is outcome invalid.
//   - A reason may be shown to the agent: it quotes the submission and, of the
//     answers, at most an id, which the test data show as well.
//   - A score of NaN or infinity is a score, as in the reference, and flagged.
//   - A batch keeps the order of its list and outlives any bad entry.
//   - Given one time of creation, a report depends on definition, submission
//     and answers only.
package grading
