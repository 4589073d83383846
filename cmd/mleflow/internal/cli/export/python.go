package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// A module is a part of the Python package that reads and writes a format.
type module struct {
	// file is what it reads, and format the plural with the name of the format.
	name, file, format string
	// oldest is the oldest Python that it runs on, and install what pip installs.
	oldest, install string
}

var (
	inspectModule = module{"_inspect", "log", "logs of Inspect AI", "3.10", "'mleflow[inspect]'"}
	atifModule    = module{"_atif", "trajectory", "trajectories in ATIF", "3.9", "mleflow"}
)

// start calls a module. The exit status is noPackage where a package is missing, and
// wrong where standard error is a sentence for the person.
const (
	start = `import sys
try:
    from mleflow.%s import main
except ImportError as err:
    print(err, file=sys.stderr)
    sys.exit(66)
sys.exit(main(sys.argv[1:]))`
	noPackage, wrong = 66, 2
)

// findPython finds the Python that has the package mleflow: MLEFLOW_PYTHON, that of the virtual
// environment in which this program is installed, or python3 of PATH.
func findPython(a *app.App, m module) (string, error) {
	if named := a.Env("MLEFLOW_PYTHON"); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", app.Usagef("MLEFLOW_PYTHON: %w", err)
		}
		return filepath.Abs(path)
	}
	if own, err := os.Executable(); err == nil {
		dir := filepath.Dir(own)
		if _, err := os.Stat(filepath.Join(dir, "..", "pyvenv.cfg")); err == nil {
			return filepath.Join(dir, "python3"), nil
		}
	}
	path, err := checkout.Program("python3")
	if err != nil {
		return "", app.Usagef("%s need Python %s or later: %w; install it, or set MLEFLOW_PYTHON to its path", m.format, m.oldest, err)
	}
	return path, nil
}

// run calls the module, feeds it, and returns what it prints. Nothing is imported from the
// working folder or from PYTHONPATH.
func (m module) run(ctx context.Context, a *app.App, feed func(io.Writer) error, args ...string) ([]byte, error) {
	python, err := findPython(a, m)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, append([]string{"-I", "-c", fmt.Sprintf(start, m.name)}, args...)...)
	cmd.Dir = "/"
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel, cmd.WaitDelay = in.Close, 10*time.Second // input that ends early makes it clean up
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	fed := feed(in)
	in.Close()
	err = cmd.Wait()
	said := strings.TrimSpace(errs.String())
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case fed != nil && !errors.Is(fed, syscall.EPIPE):
		return nil, fed
	case err == nil:
		return out.Bytes(), nil
	case cmd.ProcessState.ExitCode() == noPackage:
		return nil, app.Usagef("%s need a Python package: %s: %s; install it with pip install %s, or set MLEFLOW_PYTHON to a Python that has it", m.format, python, said, m.install)
	case cmd.ProcessState.ExitCode() == wrong:
		return nil, app.Usagef("%s", said)
	}
	return nil, fmt.Errorf("%s: %w: %s", python, err, said[strings.LastIndexByte(said, '\n')+1:])
}
