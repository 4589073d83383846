// Package local reads the files of a pipeline's folder as inputs of steps.
//
// A file or folder is identified by its content: its digest enters a key, its
// path never does. Paths are relative to the pipeline's folder. Planning hashes
// content without storing it. The content enters the cache when a step that
// reads it runs.
//
// # Answers
//
// All answers to questions about the folder while a pipeline is expanded are
// kept in a list. A run records them, so that the pipeline can be expanded to
// the same keys elsewhere without the files (Recorded).
//
// # Private folders
//
// Files in the cache or in the private half of prepared data may hold answers
// to a competition. They are marked, and the language keeps them from untrusted
// steps.
//
// # What it refuses
//
// Links and special files in a folder, files that change while a run uses them,
// and strings that are not UTF-8 or longer than 1 MiB.
package local
