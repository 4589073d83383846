// Package publish writes content as files for people, at the paths named by a
// pipeline.
//
// A path is replaced only if it holds exactly the content published there last.
// Content that mleflow did not write, or that somebody changed since, even
// while it is replaced, is never touched. To recognize its own content, the
// package records the digest next to the cache before it moves the content into
// place. A killed process leaves a path with either the old or the new content,
// and both are known.
//
// Files are copies, or read-only links into the cache. New content is first
// written to .NAME.mleflow next to its path, in its final mode, and then moved
// into place in one step. What was at the path is read again before it is removed.
package publish
