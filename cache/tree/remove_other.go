//go:build !linux

package tree

import "os"

// Remove removes path and everything below it. That path is not there is no
// error.
func Remove(path string) error { return os.RemoveAll(path) }
