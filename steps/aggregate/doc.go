// Package aggregate is the step kind "aggregate": grading reports made into a
// leaderboard.
//
// Rows are agents, by the label "agent" of the reports; runs of one agent at
// one competition are told apart by the label "seed". Scores are shown as mean
// and standard error over seeds. Percentages are the reference's: of the
// competitions of a group, per seed, then mean and standard error over seeds;
// a report that is missing for a seed counts as no submission.
package aggregate
