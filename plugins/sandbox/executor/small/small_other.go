//go:build !linux

package small

// Path returns "".
func Path() string { return "" }
