// Package attempts gathers results as records, one an attempt: from a run and the
// cache, from a bundle, and from reports and leaderboards in files. Package
// export makes tables of them.
//
// A record is a graded submission, or an attempt that nothing graded. What made
// a report and under which conditions is taken from the records of the cache or
// bundle, not from the report, which anybody could have written; of a file there
// is only the report.
package attempts
