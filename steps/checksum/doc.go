// Package checksum is the step kind "checksum": it passes on prepared data only if they
// match the competition's pins.
//
// Package competitions/pins compares the data and explains differences. The step
// turns its report into a failure, which ends the run with the exit status of a
// mismatch. With on_mismatch = "warn", it turns the report into a warning and a verdict
// that travels with the data. Explanations contain cells of tables, including answers,
// so the report is private.
package checksum
