// Package flock locks files between processes. A lock ends when its file is
// closed or its holder dies in any way. It does not exclude goroutines that
// share one open file. It is a leaf package: it imports only the standard library.
package flock
