package proof

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/grading/confined"
	"github.com/mleflow/mleflow/engine/sched"
)

// confinedVariable is set in a process that checks a bundle for another one, to
// its memory limit in bytes; of a board, bundleVariable says which bundle it is.
// memoryVariable is for people.
const (
	confinedVariable = "MLEFLOW_CONFINED"
	bundleVariable   = "MLEFLOW_CONFINED_BUNDLE"
	memoryVariable   = "MLEFLOW_VERIFY_MEMORY"
)

// The limits of a check. A foreign pipeline may ask for any amount of memory in
// one expression, or for any depth of calls, which cannot be stopped from within.
const (
	plainMemory   = 4 << 30
	maxStack      = 256 << 20
	expandTimeout = 2 * time.Minute
)

// rerunConfined runs the command line again in a process with bounded memory, which
// an interrupt ends at once, and returns true; in that process itself it sets
// the limit and returns false.
func rerunConfined(ctx context.Context, t *app.Terminal, regrade bool) (bool, error) {
	if !canConfine {
		return false, nil
	}
	if t.Env(confinedVariable) != "" {
		return false, confineReading(t)
	}
	limit, err := checkMemory(t, regrade)
	if err != nil {
		return true, err
	}
	return true, confinedRun{limit: limit, stdout: view.Underlying(t.Stdout), stderr: t.Stderr}.run(ctx, t)
}

// confineReading sets the limits of this process to those of reading a bundle, which
// takes little next to grading again.
func confineReading(t *app.Terminal) error {
	debug.SetMaxStack(maxStack)
	limit, err := checkMemory(t, false)
	if err != nil {
		return err
	}
	return confineMemory(t, limit)
}

// confineMemory sets the limit of a process that checks a bundle, if this is one, to
// so many bytes and to no more than it was started with.
func confineMemory(t *app.Terminal, most int64) error {
	text := t.Env(confinedVariable)
	if text == "" || !canConfine {
		return nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return app.Usagef("%s is not for people; set %s", confinedVariable, memoryVariable)
	}
	limit = min(limit, most)
	debug.SetMemoryLimit(limit / 10 * 8)
	return limitMemory(limit)
}

// checkMemory is how much memory a check may take: grading again takes what
// grading takes.
func checkMemory(t *app.Terminal, regrade bool) (int64, error) {
	if text := t.Env(memoryVariable); text != "" {
		return app.SizeOf(memoryVariable, text)
	}
	machine := sched.Machine().MemoryBytes / 4 * 3
	if machine <= 0 || !regrade {
		return min(max(machine, plainMemory/4), plainMemory), nil
	}
	return machine, nil
}

// confinedRun is the command line run again in a process with a limit of memory and
// further variables.
type confinedRun struct {
	limit          int64
	stdout, stderr io.Writer
	environ        []string
}

// run waits for it to its end.
func (c confinedRun) run(ctx context.Context, t *app.Terminal) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the running program: %w", err)
	}
	// The child must not outlive the thread that started it, nor that it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = slices.Concat(t.Environ, []string{fmt.Sprintf("%s=%d", confinedVariable, c.limit)}, c.environ)
	cmd.Stdout = c.stdout
	confine(cmd)
	says, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start check: %w", err)
	}
	exhausted := relay(c.stderr, says)
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case exhausted:
		reading, _ := checkMemory(t, false)
		return fmt.Errorf("checking the bundle takes more than %s of memory (to grade, %s) or nests deeper than %s of stack hold: it is hostile, or very large; %s allows more memory",
			view.Bytes(min(reading, c.limit)), view.Bytes(c.limit), view.Bytes(maxStack), memoryVariable)
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return errors.Join(app.ErrSilent, app.StatusError{Status: exit.ExitCode()})
	}
	return err
}

// relay copies what a process says, until its runtime says that there is no
// memory left, which it reports.
func relay(to io.Writer, from io.Reader) (exhausted bool) {
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		text := string(line)
		exhausted = exhausted || confined.OutOfMemory(text) || strings.HasPrefix(text, "fatal error: runtime: ") || strings.Contains(text, "errno=12")
		if !exhausted {
			_, _ = to.Write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return exhausted
		}
	}
}

// within ends the process if fn, which cannot be stopped, takes too long.
func within(limit time.Duration, what string, fn func() error) error {
	timer := time.AfterFunc(limit, func() {
		fmt.Fprintf(os.Stderr, "Error: %s takes more than %s: the bundle is hostile, or very large\n", what, limit)
		os.Exit(app.ExitFailed)
	})
	defer timer.Stop()
	return fn()
}
