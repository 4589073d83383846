// Package checksum is the step kind "checksum": it lets prepared data through
// only when they are what the competition pins.
//
// What is checked, and how a difference is explained, is package
// competitions/verify; the step turns its report into a failure that ends the
// run with the exit status of a mismatch, or, with on_mismatch = "warn", into a
// warning and a verdict that travels with the data. Explanations hold cells of
// tables, answers too, which is why the report is private.
package checksum
