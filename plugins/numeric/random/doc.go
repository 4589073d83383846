// Package random reproduces, bit for bit, the random number generators that
// MLE-bench's preparers draw from:
//
//   - RandomState: numpy.random.RandomState, numpy's legacy generator on
//     MT19937. scikit-learn and pandas use it for every integer random_state.
//   - Generator: numpy.random.default_rng, on PCG64 seeded by SeedSequence.
//   - Python: random.Random, also on MT19937, seeded and read differently.
//
// Invariants: the same seed and the same calls give the same numbers as the
// library on every machine, and every method consumes exactly as many words
// as the library's does, so calls may be mixed in any order. The oracle
// files under testdata name the library versions they were made with.
//
// The package refuses to draw from entropy of the operating system: every
// generator is seeded by the caller. It holds no global generator.
package random
