package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
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
	// What asks for too much is refused; what is within the limits of a pipeline may
	// still take more memory than verify is given.
	if _, stderr, code := p.run("verify", path, "-var", "n=3000"); code != 2 || !strings.Contains(stderr, "at most 1000000") {
		t.Errorf("exit %d\n%.2000s", code, stderr)
	}
	p.env = []string{"MLEFLOW_VERIFY_MEMORY=96MiB"}
	_, stderr, code := p.run("verify", path, "-var", "n=60")
	if code != 1 || !strings.Contains(stderr, "takes more than 96.0 MiB of memory") || strings.Contains(stderr, "goroutine ") {
		t.Errorf("exit %d\n%.2000s", code, stderr)
	}
	// An interrupt ends a check that does not listen.
	p.env = nil
	cmd := p.command("verify", path, "-var", "n=60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); computed(cmd.Process.Pid) < 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("verify does nothing")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("interrupted: exit %d", code)
	}
}

// computed returns for how many seconds a process and those below it have
// computed.
func computed(pid int) float64 {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, _ := os.ReadFile(dir + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	seconds := user / 100 // of the kernel's clock, whose ticks are 10 ms on every machine
	lists, _ := filepath.Glob(dir + "/task/*/children")
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(children)) {
			below, _ := strconv.Atoi(child)
			seconds += computed(below)
		}
	}
	return seconds
}
