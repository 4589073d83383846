package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
)

// commandLimit is the time limit for one of Slurm's commands. Slurm's own limit for a
// controller that does not answer is longer.
const commandLimit = 2 * time.Minute

// unreachableError means that Slurm's controller does not answer. It is temporary.
type unreachableError struct{ err error }

func (e unreachableError) Error() string { return e.err.Error() }
func (e unreachableError) Unwrap() error { return e.err }

// call runs a command of Slurm and returns its output.
func call(ctx context.Context, stdin, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	path, err := checkout.Program(name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		return "", unreachableError{fmt.Errorf("%s: %w", name, context.Cause(ctx))}
	}
	text := strings.TrimSpace(errs.String())
	var status *exec.ExitError
	if text == "" || !errors.As(err, &status) {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	err = fmt.Errorf("%s: %s", name, strings.TrimPrefix(text, name+": error: "))
	for _, sign := range []string{"Unable to contact", "Socket timed out", "Connection refused", "communication connection", "Transport endpoint", "backup controller"} {
		if strings.Contains(text, sign) {
			return "", unreachableError{err}
		}
	}
	return "", err
}

// environment returns this process's environment without the variables that change
// the output or the defaults of Slurm's commands.
func environment() []string {
	env := []string{"LC_ALL=C"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		changes := strings.HasPrefix(name, "SBATCH_") || strings.HasPrefix(name, "SQUEUE_") || strings.HasPrefix(name, "SINFO_") ||
			strings.HasPrefix(name, "SCANCEL_") || strings.HasPrefix(name, "SLURM_") && name != "SLURM_CONF" || strings.HasPrefix(name, "LC_") || name == "LANG"
		if !changes {
			env = append(env, v)
		}
	}
	return env
}
