// Package firstscreen has the first screen of a run, for its page and its
// report: the leaderboard, a matrix of agents, competitions and seeds, and what
// went wrong by reason.
//
// The figures of a leaderboard are those of package aggregate. The matrix has
// every attempt of the plan, also those that have no result yet. An attempt
// without a valid submission is never shown as a success.
package firstscreen
