package executortest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// hangsIn is a runtime that never returns from the probe of its name, not even
// when it is cancelled, and refuses all others.
type hangsIn string

func (h hangsIn) Run(_ context.Context, spec executor.Spec, _ io.Writer) (executor.Exit, error) {
	if slices.Contains(spec.Command, string(h)) {
		select {}
	}
	return executor.Exit{}, errors.New("refused")
}

// TestHangingRuntime runs the suite on a runtime that hangs, in a process of
// its own, and reads there which probe it was. Its time limit would come much
// later, with a list of goroutines.
func TestHangingRuntime(t *testing.T) {
	const variable = "EXECUTORTEST_HANGS_IN"
	if probe := os.Getenv(variable); probe != "" {
		Run(t, Target{
			Runtime:  executor.Runtime{Executor: hangsIn(probe)},
			Program:  "program",
			Patience: 3 * time.Second,
		})
		return
	}
	for _, probe := range []string{"polite", "fetch", "exit"} {
		t.Run(probe, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestHangingRuntime$", "-test.timeout=5m")
			cmd.Env = append(os.Environ(), variable+"="+probe)
			out, err := cmd.CombinedOutput()
			text := string(out)
			want := regexp.MustCompile(`the runtime hangs: no return from Run after \S+; probe \["program" "executor-probe" "` + probe + `"`)
			if err == nil || !want.MatchString(text) {
				t.Errorf("got %v and\n%s", err, text)
			}
			if strings.Contains(text, "panic: test timed out") {
				t.Errorf("it ran into the time limit of the test:\n%s", text)
			}
		})
	}
}
