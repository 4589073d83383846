package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// short is a place whose pipeline has one step, which runs a command.
func short(t *testing.T, dir, command string) *place {
	t.Helper()
	p := &place{t: t, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "p.hcl")}
	if err := os.WriteFile(p.file, []byte(`step "exec" "one" { command = ["sh", "-c", "`+command+`"] }`), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// runs returns how many runs are listed.
func (p *place) runs() int {
	p.t.Helper()
	out, _, _ := p.run("runs", "--json")
	return strings.Count(out, `"called"`)
}

// TestRemoveAsks removes a run only after a person says so.
func TestRemoveAsks(t *testing.T) {
	t.Parallel()
	p := short(t, t.TempDir(), "true")
	p.run("apply", p.file)
	for _, tt := range []struct {
		answer     string
		code, left int
	}{{"\r", 2, 1}, {"n\r", 2, 1}, {"\x03", 130, 1}, {"y\r", 0, 0}} {
		window, ended := p.newTerminal("runs", "remove", "latest")
		window.await("Remove 1 run? [y/N]")
		window.press(tt.answer)
		if code := ended(); code != tt.code || p.runs() != tt.left {
			t.Errorf("answer %q: status %d, %d runs are left:\n%s", tt.answer, code, p.runs(), window.seen.String())
		}
	}
}

// TestRemoveOfRunning never removes a run whose process lives.
func TestRemoveOfRunning(t *testing.T) {
	t.Parallel()
	p := short(t, t.TempDir(), "sleep 1000")
	cmd := p.command("apply", p.file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for end := time.Now().Add(2 * time.Minute); p.runs() == 0; {
		if time.Now().After(end) {
			t.Fatal("no run began")
		}
	}
	if _, errs, code := p.run("runs", "remove", "latest", "--force", "--yes"); code != 2 || !strings.Contains(errs, "stays: running") || strings.Contains(errs, "--force removes") {
		t.Errorf("status %d: %s", code, errs)
	}
	if out, _, code := p.run("runs", "remove", "--keep", "0", "--force", "--yes"); code != 0 || !strings.Contains(out, "Removed 0 runs") || p.runs() != 1 {
		t.Errorf("status %d, %d runs: %s", code, p.runs(), out)
	}
}

// TestRemoveOfOthers lets a second user of a cache remove the runs of the first with --force
// only, and keeps who did it.
func TestRemoveOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be two users")
	}
	dir, err := os.MkdirTemp("", "mleflow-two-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, path := range []string{dir, filepath.Dir(binary)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := short(t, dir, "true")
	p.run("apply", p.file)
	p.run("apply", p.file)
	err = filepath.WalkDir(p.cache, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		mode := os.FileMode(0o666)
		if d.IsDir() {
			mode = 0o777
		}
		return os.Chmod(path, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
	second := func(args ...string) (string, int) {
		cmd := p.command(args...)
		cmd.Env = append(cmd.Env, "HOME=/nonexistent")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Skipf("the program cannot be run as another user: %v", err)
		}
		return out.String(), cmd.ProcessState.ExitCode()
	}
	if out, code := second("runs", "remove", "latest", "--yes"); code != 2 || !strings.Contains(out, "stays: of user root") || p.runs() != 2 {
		t.Errorf("another's run: status %d, %d runs: %s", code, p.runs(), out)
	}
	if out, code := second("runs", "remove", "--keep", "0", "--yes"); code != 0 || !strings.Contains(out, "Removed 0 runs") || p.runs() != 2 {
		t.Errorf("all of another's: status %d, %d runs: %s", code, p.runs(), out)
	}
	if out, code := second("runs", "remove", "latest", "--yes", "--force"); code != 0 || p.runs() != 1 {
		t.Errorf("with --force: status %d, %d runs: %s", code, p.runs(), out)
	}
}
