//go:build !linux

package publish

import "os"

func exchange(from, to, aside string) error { return inTwoSteps(from, to, aside) }

func moveNew(from, to string) error {
	_ = os.Remove(to) // an empty folder may be replaced
	return os.Rename(from, to)
}
