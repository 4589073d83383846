// Package board reads grading reports, ours and the reference's, and aggregates
// them: the leaderboard of an agent, estimates over seeds, and two agents
// compared.
//
// It grades nothing: package grading writes the reports. The figures equal those
// of the reference's scripts; reports that the reference's script refuses are
// refused here.
package board
