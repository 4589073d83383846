package containerd

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/containerd/containerd/api/types/runc/options"
)

// runcShim is containerd's shim for every program with runc's commands.
const runcShim = "io.containerd.runc.v2"

// handler returns the shim and its options for the name of a handler. A full name such
// as "io.containerd.runsc.v1" is used unchanged, and "runc" is the usual shim. Any
// other name is a program in PATH with runc's commands, such as runsc, or nvidia for
// nvidia-container-runtime.
func handler(name string) (shim string, opts any, err error) {
	switch {
	case name == "" || name == "runc":
		return runcShim, nil, nil
	case strings.Count(name, ".") >= 2:
		return name, nil, nil
	}
	program := name
	if name == "nvidia" {
		program = "nvidia-container-runtime"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", nil, fmt.Errorf("find runtime handler %q: %w (install %s, or give the full name of a shim)", name, err, program)
	}
	return runcShim, &options.Options{BinaryName: path}, nil
}
