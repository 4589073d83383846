// Package grade is the step kind "grade": it scores one submission against the
// answers and produces a grading report.
//
// A missing or invalid submission is a result with a reason; only a failure of
// the grader is an error. The report contains no time and no path of a machine,
// so that the same submission gives the same report.
package grade
