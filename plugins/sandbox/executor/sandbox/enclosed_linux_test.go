package sandbox_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
)

// TestEnclosed has a program look for a secret of the user: it sees its mounts, and in
// the sandbox nothing else.
func TestEnclosed(t *testing.T) {
	b := newBench(t)
	secret, shown := filepath.Join(t.TempDir(), "secret"), t.TempDir()
	if err := os.WriteFile(secret, []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shown, "input"), []byte("the input"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := executor.Runtime{Executor: b.e, Available: func() executor.Availability { return executor.Availability{} }}
	for _, tt := range []struct {
		rt   executor.Runtime
		want string
	}{{b.e.Runtime(), "the input"}, {none, "the inputa secret"}, {executor.Runtime{}, "the inputa secret"}} {
		var out, logs bytes.Buffer
		exit, err := executor.Enclosed{Sandbox: tt.rt, Otherwise: process.New("")}.Run(t.Context(), executor.Spec{
			ID: t.Name(), Command: []string{"sh", "-c", `cat input "$1" 2>/dev/null; grep -qv '^ *lo:\|^Inter\|^ face' /proc/net/dev && echo network; exit 0`, "sh", secret},
			Env: map[string]string{"PATH": "/usr/bin:/bin"}, Dir: shown, Stdout: &out, Mounts: []executor.Mount{{Host: shown, Guest: shown}},
			Limits: executor.Limits{Timeout: time.Minute, Processes: 64},
		}, &logs)
		if err != nil || !exit.OK() || out.String() != tt.want && out.String() != tt.want+"network\n" || tt.rt.Available == nil && tt.rt.Executor != nil && out.String() != tt.want {
			t.Errorf("%q, %v, %+v: %s; want %q", out.String(), err, exit, &logs, tt.want)
		}
	}
}
