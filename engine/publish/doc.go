// Package publish lays content out as files that people keep, at the paths
// that a pipeline names.
//
// A path is replaced only if it holds exactly what was published there last.
// What mleflow did not write, or what somebody changed since, is never touched.
// So that this can be told, the digest of what is published is recorded next to
// the cache, before it is put in its place: a process that is killed leaves a
// path either as it was or with the new content, and both are known.
//
// Files are copies, or read-only links into the cache. New content is written
// next to its place, to .NAME.mleflow, and takes it in one step.
package publish
