// Package pysource reads Python code as tokens with their places: scripts, and
// the code cells of notebooks (nbformat 3 and 4).
//
// It is a lexer, not a parser. Code that Python would refuse still gives
// tokens, since a fault in one line must not hide the rest of a file. Time and
// memory grow linearly with the size of the input, whatever is in it.
//
// A notebook becomes the lines of its code cells, one cell after another. Lines
// that IPython reads and Python does not (%magic, !command, ?help) become
// empty, and so do cells in other languages (%%bash); they are in Commands. A cell that
// %%writefile or %%time begins is kept.
package pysource
