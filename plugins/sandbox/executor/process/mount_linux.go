package process

import "github.com/mleflow/mleflow/plugins/sandbox/executor"

// readOnly returns the folders and files that the command may only read.
func readOnly(mounts []executor.Mount) (paths []string) {
	for _, m := range mounts {
		if m.ReadOnly {
			paths = append(paths, m.Host)
		}
	}
	return paths
}
