// Package stat holds the statistics that two agents are compared with: the
// exact McNemar test, the sign-flip randomisation test, and bootstrap
// intervals.
//
// # Vocabulary
//
// A difference is the outcome of one agent less that of the other in one pair
// of runs. A stratum is a set of pairs that are resampled among themselves; a
// cluster is a set that is resampled whole.
//
// # Numbers
//
// P-values of the exact tests are computed with integers and rounded once.
// Bootstrap replicates are compared exactly: statistics of equal resamples are
// equal, however they were drawn. The same seed gives the same interval on
// every machine, and the same that scipy.stats.bootstrap gives with
// numpy.random.default_rng(seed); the oracle files under testdata name the
// versions.
//
// The package refuses to return an interval where the data hold no information
// on it: it says so with an error rather than with a width of zero.
package stat
