// Package competition has the commands for competitions: competition, prepare, grade,
// grade-sample, mask.
package competition
