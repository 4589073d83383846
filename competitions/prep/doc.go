// Package prep runs the prepare block of a competition: it reads raw data and
// writes the public and private files that the block declares.
//
// # Vocabulary
//
//   - An output is a block below public or private: table, files, copy, text,
//     json, archive. Its label is the destination.
//   - A local is a named expression of the block, evaluated at most once and
//     only when an output needs it. Tables and columns are values of the
//     language; operators and templates on columns work cell by cell.
//   - A path template names columns in braces: "images/{id}.jpg".
//   - The sink is where outputs go: a folder, or a content store.
//
// # Invariants
//
//   - The result depends on the definition, the parameters and the raw files
//     only; parallelism changes nothing.
//   - Every mistake in the block is a diagnostic with its place in the file.
//   - Nothing outside the sink is written, except unpacked archives in the
//     work folder, which are removed at the end.
//   - On failure the sink is told nothing was finished: a file is committed
//     whole or not at all, and a folder is published only by its owner.
//
// Row-wise work is done by package plugins/data/transform; the interpreter here
// touches each column once, never each row.
package prep
