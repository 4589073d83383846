// Package split divides rows into two parts exactly as scikit-learn does.
//
// TrainTestSplit takes a number of rows and returns row numbers; it knows
// nothing of tables.
//
// Invariants: tolerance 0 against the libraries that testdata/vectors.json
// names (scikit-learn 1.5.2 and 1.9.1, and numpy 1.24.2 and 2.4.6 agree on all
// of it); the same rows on every machine; inputs are read-only; sizes that the
// library refuses are errors here, never adjusted. Without a size or seed,
// the defaults are the library's size and seed 0: nothing is ever drawn from
// the operating system's entropy.
package split
