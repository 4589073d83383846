// Package split divides rows into parts exactly as scikit-learn and pandas
// do. Every function takes a number of rows (or one label a row) and returns
// row numbers; none knows about tables.
package split
