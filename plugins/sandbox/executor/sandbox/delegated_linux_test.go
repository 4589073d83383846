package sandbox_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
)

// TestDelegated: where the user has a control group of version 2, the kernel holds
// every limit, and no watcher kills. MLEFLOW_TEST_DELEGATED says that there is one.
func TestDelegated(t *testing.T) {
	if os.Getenv("MLEFLOW_TEST_DELEGATED") == "" {
		t.Skip("MLEFLOW_TEST_DELEGATED does not say that this user has a control group; see .ci/test-cgroup2")
	}
	b := newBench(t)
	held := func(t *testing.T, exit executor.Exit) {
		t.Helper()
		for _, limit := range []string{"memory", "processes", "cpus"} {
			if by := exit.Enforced[limit]; by != "cgroup" {
				t.Errorf("%s is held by %q", limit, by)
			}
		}
	}
	limits := func(spec executor.Spec) executor.Spec {
		spec.Limits.MemoryBytes, spec.Limits.Processes, spec.Limits.CPUs = 100<<20, 60, 0.25
		return spec
	}
	t.Run("processors", func(t *testing.T) {
		var ms int
		held(t, b.Run(t, limits(b.Spec(t, "cpu")), &ms))
		if ms > 600 {
			t.Errorf("a second gave %d ms of a processor, want about 250", ms)
		}
	})
	t.Run("processes", func(t *testing.T) {
		spec := limits(b.Spec(t, "fork"))
		spec.Limits.MemoryBytes, spec.Limits.CPUs = 2<<30, 2 // an emulated machine is slow enough
		var n int
		exit := b.Run(t, spec, &n)
		held(t, exit)
		if n < 2 || n > 76 {
			t.Errorf("forked %d", n)
		}
	})
	t.Run("memory of a child", func(t *testing.T) {
		var said string
		exit := b.Run(t, limits(b.Spec(t, "oomchild")), &said)
		held(t, exit)
		if said != "signal: killed" || !exit.OK() || exit.OOMKills == 0 || exit.PeakMemoryBytes < 50<<20 || exit.PeakMemoryBytes > 100<<20 {
			t.Errorf("child %q, %+v", said, exit)
		}
	})
	t.Run("memory of the command", func(t *testing.T) {
		var logs bytes.Buffer
		spec := limits(b.Spec(t))
		spec.Command = []string{containerdtest.Program, executortest.ProbeCommand, "hold", "300", "1m"}
		exit, err := b.e.Run(t.Context(), spec, &logs)
		if err != nil || exit.Reason != executor.OutOfMemory {
			t.Errorf("got %+v, %v\n%s", exit, err, logs.String())
		}
		held(t, exit)
	})
	// The first process is killed with what it watches when nothing else holds memory.
	t.Run("memory in files", func(t *testing.T) {
		exit, err := b.e.Run(t.Context(), limits(b.Spec(t, "fill", "/tmp/big")), &bytes.Buffer{})
		if err != nil || exit.Reason != executor.OutOfMemory || exit.OOMKills == 0 {
			t.Errorf("got %+v, %v", exit, err)
		}
		held(t, exit)
	})
	b.empty(t)
}
