package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBombInBundle checks bundles whose pipeline asks for any amount of memory,
// or for ever. The variable stands for what a forger writes into the bundle.
func TestBombInBundle(t *testing.T) {
	p := newPlace(t, t.TempDir())
	text := `
variable "n" {
  type    = number
  default = 2
}
locals {
  all  = setproduct(range(var.n), range(var.n), range(var.n))
  runs = toset([for x in local.all : join("-", x)])
}
step "exec" "x" { command = ["echo", "${length(local.runs)}"] }
`
	if err := os.WriteFile(p.file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p.finish()
	path := filepath.Join(t.TempDir(), "run.bundle")
	if _, stderr, code := p.run("bundle", "-o", path); code != 0 {
		t.Fatal(stderr)
	}
	if stdout, stderr, code := p.run("verify", path); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	p.env = []string{"MLEFLOW_VERIFY_MEMORY=512MiB"}
	_, stderr, code := p.run("verify", path, "-var", "n=3000")
	if code != 1 || !strings.Contains(stderr, "takes more than 512.0 MiB of memory") || strings.Contains(stderr, "goroutine ") {
		t.Errorf("exit %d\n%.2000s", code, stderr)
	}
	// An interrupt ends a check that does not listen. The time that it takes to
	// start does not matter: one that did not is ended by the signal.
	p.env = nil
	cmd := p.command("verify", path, "-var", "n=250")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 && code != -1 {
		t.Errorf("interrupted: exit %d", code)
	}
}
