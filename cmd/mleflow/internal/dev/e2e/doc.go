// Package e2e holds tests that run the real program as a process and do to it
// what happens in life: kill it at any moment, fill its disk, damage its
// cache, run it twice at once.
package e2e
