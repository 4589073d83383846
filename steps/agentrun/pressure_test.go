package agentrun_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

// killer ends a command as the kernel's killer does; ends is how many it has killed.
type killer struct {
	ends int64
	exit executor.Exit
}

func (k *killer) Run(context.Context, executor.Spec, io.Writer) (executor.Exit, error) {
	k.ends++
	return k.exit, nil
}

// TestKilledByPressure: when the memory of the job around mleflow is used up, an agent
// without a limit is out of memory, and one that kept its own is not to blame.
func TestKilledByPressure(t *testing.T) {
	killed := executor.Exit{Reason: executor.Signalled, Code: 137, Signal: 9, PeakMemoryBytes: 1 << 20}
	for name, c := range map[string]struct {
		limit   int64
		exit    executor.Exit
		outcome string // "" is a failure of the machine
	}{
		"no limit":           {0, killed, "out_of_memory"},
		"below its limit":    {1 << 30, killed, ""},
		"above its limit":    {1 << 10, killed, "out_of_memory"},
		"a child was killed": {0, executor.Exit{Reason: executor.Exited, Code: 137}, "out_of_memory"},
		"it survived":        {0, executor.Exit{Reason: executor.Exited, Code: 3}, "agent_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &killer{exit: c.exit}
			rt := process.Runtime("")
			rt.Executor = k
			b := steptest.New(agentrun.Kind(agentrun.Deps{
				Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()}, Runtimes: executor.NewRegistry(rt),
				OOMKills: func() int64 { return k.ends },
			}))
			b.Limits.MemoryBytes = c.limit
			if c.outcome != "" {
				if r := run(t, b, values(b, t, shell("true"))); r.Outcome != c.outcome {
					t.Errorf("got %s, want %s", r.Outcome, c.outcome)
				}
				return
			}
			_, err := b.Run(t, values(b, t, shell("true")))
			if _, again := step.IsRetryable(err); !again || !strings.Contains(err.Error(), "below its own limit") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNoExec says before and after an attempt that nothing can be started on the disk.
func TestNoExec(t *testing.T) {
	const why = "the disk is mounted noexec; mount it without"
	b := steptest.New(agentrun.Kind(agentrun.Deps{
		Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()}, Runtimes: executor.NewRegistry(process.Runtime("")),
		NoExec: func() string { return why },
	}))
	for program, missing := range map[string]bool{"./run.sh": true, "bin/run": true, "/bin/sh": false, "python3": false} {
		args := values(b, t, who([]string{program}, map[string]cty.Value{}))
		s, err := b.Kind.New(b.Args(t, args))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(step.Missing(t.Context(), s), "\n"), why); got != missing {
			t.Errorf("%s: missing %v, want %v: %q", program, got, missing, step.Missing(t.Context(), s))
		}
	}
	_, err := b.Run(t, values(b, t, who([]string{"./run.sh"}, map[string]cty.Value{})))
	if err == nil || !strings.Contains(err.Error(), "cannot start command") || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v", err)
	}
}
