// Package flock locks files between processes. A lock ends when its file is
// closed or its holder dies, however it dies. It does not hold between
// goroutines that share one open file.
package flock
