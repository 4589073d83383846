// Package outputs takes out of the cache what a run gave: single outputs of
// steps, or all attempts and boards as folders that people know.
//
// A folder of results is written whole or not at all, and replaces nothing.
// Files are copies that may be changed; with links, read-only hard links into
// the cache.
package outputs
