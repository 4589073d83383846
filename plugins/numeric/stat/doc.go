// Package stat holds the statistics that agents are judged with: intervals of means
// and of differences, the exact permutation test of two agents, Holm's correction, and a
// confidence sequence.
//
// # Vocabulary
//
// A run of an agent has an outcome, between 0 and 1. Runs at one competition are a
// stratum. Over other runs means at the same strata; over other competitions means
// that strata vary, too.
//
// # Numbers
//
// The same input gives the same bits on every machine. The oracle files under testdata
// name the libraries that functions are compared with, and their versions.
//
// The package refuses to return an interval where the data hold no information on it,
// and none has a width of zero.
package stat
