package executortest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// bench is the runtime of one test, with a writable folder mounted.
type bench struct {
	Target
	hung  *atomic.Bool
	mount executor.Mount
}

// spec returns the spec of a probe. Arguments that start with "@" are file names in the
// mounted folder.
func (b bench) spec(args ...string) executor.Spec {
	command := []string{b.Program, ProbeCommand}
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "@"); ok {
			a = filepath.Join(b.Runtime.Path(b.mount), name)
		}
		command = append(command, a)
	}
	return executor.Spec{
		ID: rand.Text(), Image: b.Image, Command: command, Dir: b.Runtime.Path(b.mount),
		Env: map[string]string{"PATH": "/usr/bin:/bin"}, Mounts: []executor.Mount{b.mount},
		Limits: executor.Limits{Timeout: time.Minute, Grace: 500 * time.Millisecond},
	}
}

func (b bench) run(t *testing.T, spec executor.Spec) (executor.Exit, string) {
	t.Helper()
	var logs bytes.Buffer
	exit, err := b.call(t.Context(), spec, &logs)
	if errors.Is(err, errHung) {
		t.Fatal(err) // Run still uses the logs
	}
	if err != nil {
		t.Fatalf("Run: %v\n%s", err, logs.String())
	}
	return exit, logs.String()
}

// settled runs a spec with a time limit that is enough for its probe to write the
// files.
func (b bench) settled(t *testing.T, spec executor.Spec, files ...string) (exit executor.Exit) {
	t.Helper()
	Slower(t, func(factor int) string {
		spec.ID, spec.Limits.Timeout = rand.Text(), time.Duration(factor)*settle
		exit, _ = b.run(t, spec)
		for _, name := range files {
			if _, err := os.Stat(b.file(name)); err != nil {
				return "the probe does not write " + name
			}
		}
		return ""
	})
	return exit
}

// Slower calls a test whose moments must come in an order that a busy machine may not
// keep, with 1, 2, 4 times the time between them, until it has no more to say. What it
// says at 32 times fails the test.
func Slower(t *testing.T, try func(factor int) (problem string)) {
	t.Helper()
	for factor := 1; ; factor *= 2 {
		problem := try(factor)
		if problem == "" {
			return
		}
		if factor == 32 {
			t.Fatalf("with %d times the time: %s", factor, problem)
		}
	}
}

func (b bench) file(name string) string { return filepath.Join(b.mount.Host, name) }

// still fails the test when the file changes: its writer is alive.
func (b bench) still(t *testing.T, name string) {
	t.Helper()
	before, err := os.ReadFile(b.file(name))
	if err != nil {
		t.Fatalf("the probe never ran: %v", err)
	}
	time.Sleep(150 * time.Millisecond) // seven beats of a probe that is alive
	after, _ := os.ReadFile(b.file(name))
	if !bytes.Equal(before, after) {
		t.Errorf("the writer of %s is alive: %s → %s", name, before, after)
	}
}

// errHung means that Run did not return. Its arguments are still in use.
var errHung = errors.New("the runtime hangs")

// call calls Run and waits at most the target's patience for it.
func (b bench) call(ctx context.Context, spec executor.Spec, logs io.Writer) (executor.Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		exit executor.Exit
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		exit, err := b.Runtime.Executor.Run(ctx, spec, logs)
		answers <- answer{exit, err}
	}()
	patience := b.Patience
	if spec.Limits.Timeout < time.Minute {
		patience += spec.Limits.Timeout
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.exit, a.err
	case <-timer.C:
		b.hung.Store(true)
		return executor.Exit{}, fmt.Errorf("%w: no return from Run after %v; probe %q", errHung, patience, spec.Command)
	}
}
