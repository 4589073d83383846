package sandbox_test

import (
	"debug/elf"
	"os"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/sandboxtest"
)

// TestInPod runs the tests of this package in a container with a pod's settings that
// docs/isolation.md names.
func TestInPod(t *testing.T) {
	sandboxtest.Need(t)
	if f, err := elf.Open("/proc/self/exe"); err != nil || f.Section(".interp") != nil {
		t.Skip("the test program is linked with libraries, which a container with it alone lacks; make test builds it with CGO_ENABLED=0")
	}
	profile, err := sandbox.SeccompProfile()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pod := sandboxtest.Container{User: 1000, UserNamespace: true, Unmasked: true, Seccomp: profile}
	out, err := pod.Run(t, self, "-test.run", "^(TestConformance|TestLook|TestTry|TestLimits)$", "-test.v")
	if err != nil || !strings.Contains(out, "--- PASS: TestConformance") || strings.Contains(out, "--- SKIP") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Log(out)
}
