// Package holdout is the step kind "holdout": it splits the public data of a competition
// once more, by the competition's own preparation, so that an agent can ask for the score
// of predictions without the answers of the test.
//
// The preparation runs on its own public files. The training files that it writes replace
// those of the public data; the test inputs of the public data stay. What it writes for its
// own test are the held-out inputs, and its private files are the labels of held-out rows.
package holdout
