// Package grade is the step kind "grade": one submission scored against the
// answers, as a grading report.
//
// A submission that is missing or invalid is a result with a reason; only a
// grader that cannot do its work is an error. The report is content: it holds
// no time and no path of a machine, so that the same submission gives the same
// report.
package grade
