package sandbox_test

import (
	"os"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/sandboxtest"
)

// TestOldKernel runs the tests of this package where the kernel has no overlay, no
// Landlock, and none of the system calls that the runtime can do without.
func TestOldKernel(t *testing.T) {
	needNamespaces(t)
	if testing.Short() {
		t.Skip("the tests beside this one, in a mode that changes no goroutine")
	}
	t.Log(sandboxtest.OldKernelRun(t, "^(TestFallbacks|TestConformance|TestLook|TestTry|TestLimits|TestUser|TestResume)$/^(|suite|running|processes|memory.*|disk.*)$"))
}

// TestFallbacks sees that what OldKernelRun takes away is away, and that what is left
// keeps the first process alive.
func TestFallbacks(t *testing.T) {
	if os.Getenv(sandboxtest.OldKernel) == "" {
		t.Skip("TestOldKernel runs it")
	}
	b := newBench(t)
	spec := b.Spec(t, "signals")
	spec.Mounts = []executor.Mount{{Host: t.TempDir(), Guest: "/home/data", ReadOnly: true}}
	var said string
	exit := b.Run(t, spec, &said)
	for what, want := range map[string]string{"root": "binds", "views": "binds", "landlock": "off"} {
		if got := exit.Enforced[what]; got != want {
			t.Errorf("%s is %q, want %q", what, got, want)
		}
	}
	if said != "sent" || !exit.OK() {
		t.Errorf("said %q, %+v", said, exit)
	}
	b.empty(t)
}
