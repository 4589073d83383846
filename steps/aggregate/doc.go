// Package aggregate is the step kind "aggregate": it combines grading reports
// into a leaderboard.
//
// Rows are agents, by the label "agent" of the reports; the label "seed"
// distinguishes an agent's runs at one competition. Scores are shown as mean
// and standard error over seeds. Percentages are the reference's: of the
// competitions of a group, per seed, then mean and standard error over seeds; a
// report that is missing for a seed counts as no submission.
package aggregate
