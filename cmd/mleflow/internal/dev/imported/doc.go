// Package imported has the proof that competitions which others defined run unedited: the
// folders of MLE-bench itself, imported, prepare and grade the golden cases as MLE-bench
// did.
package imported
