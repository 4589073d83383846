package machine

import (
	"os"
	"path/filepath"
)

// taskFolder is where containerd keeps the bundles of running containers, below
// its state folder.
const taskFolder = "io.containerd.runtime.v2.task"

// closedState returns the folder that keeps other users out of containerd's
// state, "" if there is none or the state is not found. The users that
// containers run as are leased and belong to nobody, so runc must get to a
// bundle as one of the others.
func closedState(socket string) string {
	dir := filepath.Dir(socket)
	for _, state := range []string{dir, filepath.Join(dir, "state")} {
		tasks := filepath.Join(state, taskFolder)
		if _, err := os.Stat(tasks); err == nil {
			return closedFolder(tasks)
		}
	}
	return ""
}

// closedFolder returns the topmost folder on the path that other users may not
// enter, "" if there is none.
func closedFolder(path string) string {
	if parent := filepath.Dir(path); parent != path {
		if closed := closedFolder(parent); closed != "" {
			return closed
		}
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o001 == 0 {
		return path
	}
	return ""
}
