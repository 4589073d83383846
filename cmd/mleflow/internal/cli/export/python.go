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

// start calls the Python package. The exit status is noPackage where a package is missing, and
// wrong where standard error is a sentence for the person.
const (
	start = `import sys
try:
    from mleflow._inspect import main
except ImportError as err:
    print(err, file=sys.stderr)
    sys.exit(66)
sys.exit(main(sys.argv[1:]))`
	noPackage, wrong = 66, 2
)

// findPython finds the Python that has the package mleflow: MLEFLOW_PYTHON, that of the virtual
// environment in which this program is installed, or python3 of PATH.
func findPython(a *app.App) (string, error) {
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
		return "", app.Usagef("logs of Inspect AI need Python 3.10 or later: %w; install it, or set MLEFLOW_PYTHON to its path", err)
	}
	return path, nil
}

// inPython calls the Python package, feeds it, and returns what it prints. Nothing is imported
// from the working folder or from PYTHONPATH.
func inPython(ctx context.Context, a *app.App, feed func(io.Writer) error, args ...string) ([]byte, error) {
	python, err := findPython(a)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, append([]string{"-I", "-c", start}, args...)...)
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
		return nil, app.Usagef("logs of Inspect AI need a Python package: %s: %s; install it with pip install 'mleflow[inspect]', or set MLEFLOW_PYTHON to a Python that has it", python, said)
	case cmd.ProcessState.ExitCode() == wrong:
		return nil, app.Usagef("%s", said)
	}
	return nil, fmt.Errorf("%s: %w: %s", python, err, said[strings.LastIndexByte(said, '\n')+1:])
}
