package publish

import "os"

// inTwoSteps is exchange for file systems without atomic exchange. If the
// process is killed in between, the path is empty, and the next run publishes
// to it again.
func inTwoSteps(from, to, aside string) error {
	if err := os.Rename(to, aside); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		if back := os.Rename(aside, to); back != nil {
			return back
		}
		return err
	}
	return nil
}
