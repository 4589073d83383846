// Package metric holds the scoring functions of competitions and the list of
// them that a grade block chooses from by name.
//
// # Vocabulary
//
// A Metric is an entry of the list: name, direction, documentation and
// parameters as data, and a constructor. The constructor checks the arguments
// and gives a Scorer, which scores aligned tables. A kernel is a plain
// function on slices (aucOf, rmseOf, …) that a Scorer calls after it has
// taken the columns out of the tables; kernels are exported, since a pipeline
// may need a number without a table.
//
// # Numbers
//
// Every kernel states formula, averaging, ties, clipping, ignored rows and
// source. Where the source is numpy, scikit-learn or scipy, the result is
// theirs bit for bit, given the same elementary functions: sums are numpy's
// pairwise sums, products are rounded before they are added, and integers stay
// integers as long as theirs do. Log, Log1p and Exp are correctly rounded;
// the C library and the vector code of numpy are mostly, but not always, so
// that a mean of logarithms can differ from theirs in the last digit.
//
// # Failures
//
// A kernel never panics and never changes its input. A prediction that cannot
// be scored is an *Unscorable error: the submission's fault. Any other error
// is a fault of the answers or of the definition. Not-a-number and infinities
// are scores where the source gives them.
//
// # Adding a metric
//
// A file with the kernel and its Metric, or a place beside what they share, and the
// name in all.go.
package metric
