// Package local reads the files of a pipeline's folder as inputs of steps.
//
// A file or folder is known by its content: what enters a key is its digest,
// never its path. Paths are relative to the pipeline's folder. Planning
// hashes and stores nothing; the content enters the cache when a step that
// reads it runs.
//
// # Answers
//
// Everything that expanding a pipeline asked of its folder is kept as a list
// of answers. A run records them, so that it can be expanded again elsewhere,
// without the files, to the same keys (Recorded).
//
// # Private folders
//
// What is in the cache or in the private half of prepared data may hold answers
// to a competition. Such files are marked, and the language refuses them to
// untrusted steps.
//
// # What it refuses
//
// Links and special files in a folder, files that change while a run uses
// them, and strings that are not UTF-8 or longer than 1 MiB.
package local
