// Package export makes leaderboards into tables that other programs read: one
// of figures, one of runs, and the Markdown row of the reference's README.
//
// The columns are those of docs/leaderboard.md. They are a contract: columns
// may be added at the end, and none changes its name or meaning. The tables are
// tidy: one row a figure or a run, one value a cell, missing where a thing is
// not known.
package export
