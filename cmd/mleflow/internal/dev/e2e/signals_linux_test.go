package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// patientPipeline has an attempt that ends when its folder holds a file.
const patientPipeline = `
variable "runtime" { default = "sandbox" }
agent "patient" {
  command = ["/bin/sh", "-c", <<-EOT
    echo "agent begins"
    until [ -e "$CODE_DIR/end" ]; do sleep 0.05; done
    cp "$MLEFLOW_SAMPLE" "$SUBMISSION_DIR/submission.csv"
  EOT
  ]
}
step "download" "raw" { competition = "demo-cancer" }
step "prepare" "data" {
  competition = "demo-cancer"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  agent       = agent.patient
  competition = "demo-cancer"
  seed        = 0
  data        = step.prepare.data.public
  runtime     = var.runtime
  timeout     = "10m"
}
output "stats" { value = step.agent-run.solve.stats }
`

// patient is an apply whose agent waits.
type patient struct {
	*place
	runtime string
}

func newPatient(t *testing.T, runtime string) *patient {
	dir := t.TempDir()
	p := &patient{place: &place{t: t, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "patient.hcl")}, runtime: runtime}
	if err := os.WriteFile(p.file, []byte(patientPipeline), 0o644); err != nil {
		t.Fatal(err)
	}
	var doctor struct {
		Checks []struct{ Name, Status string }
	}
	out, _, _ := p.run("doctor", "--json")
	if err := json.Unmarshal([]byte(out), &doctor); err != nil {
		t.Fatal(err)
	}
	for _, c := range doctor.Checks {
		if c.Name == "sandbox" && c.Status != "ok" && runtime == "sandbox" {
			t.Skip("no sandbox can be had")
		}
	}
	return p
}

// begin applies until the agent runs, and returns the rest of what is printed.
func (p *patient) begin(args ...string) (*exec.Cmd, io.ReadCloser) {
	p.t.Helper()
	cmd := p.command(append([]string{"apply", p.file, "--json", "-var", "runtime=" + p.runtime}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte("agent begins")) {
			return cmd, out
		}
	}
	p.t.Fatal("the agent did not begin")
	return nil, nil
}

// end lets the agent end.
func (p *patient) end() {
	p.t.Helper()
	folders, err := filepath.Glob(filepath.Join(p.cache, "kept", "*", "home", "code"))
	if err != nil || len(folders) != 1 {
		p.t.Fatalf("folders of attempts: %v, %v", folders, err)
	}
	if err := os.WriteFile(filepath.Join(folders[0], "end"), nil, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// TestSignals sends each polite signal to a real apply: the agent goes on, and the
// next apply continues with it, as after SIGKILL.
func TestSignals(t *testing.T) {
	t.Parallel()
	// Programs of a process that ignores the signal, as under nohup, would not get it.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hup) })
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		// deaf closes the other end of what the apply prints before.
		deaf bool
		code int
	}{
		{"KILL", syscall.SIGKILL, false, -1},
		{"HUP", syscall.SIGHUP, false, 130},
		{"TERM", syscall.SIGTERM, false, 130},
		{"INT without a terminal", syscall.SIGINT, false, 130},
		{"HUP with nobody listening", syscall.SIGHUP, true, 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, "sandbox")
			cmd, out := p.begin()
			if tt.deaf {
				out.Close()
			}
			_ = cmd.Process.Signal(tt.signal)
			if !tt.deaf {
				_, _ = io.Copy(io.Discard, out)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("status %d, want %d", code, tt.code)
			}
			if text, _, _ := p.run("runs", "cleanup"); text != "1 agent goes on on this machine.\n" {
				t.Errorf("runs cleanup says %q", text)
			}
			p.end()
			outputs, _ := p.finish()
			if !strings.Contains(outputs["stats"], `"resumed":true`) || !strings.Contains(outputs["stats"], `"exit_code":0`) {
				t.Errorf("the agent did not go on: %s", outputs["stats"])
			}
		})
	}
}

// TestSignalStops sees that agents are ended where they are to be or cannot go on, and
// that what was left can be ended.
func TestSignalStops(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, runtime, policy, says, left string }{
		{"stop", "sandbox", "stop", "Stopping: steps in flight are being ended.", "0 agents go on on this machine.\n"},
		{"process", "process", "leave", `the runtime "process" cannot leave an agent running`, "0 agents go on on this machine.\n"},
		{"ended later", "sandbox", "leave", "Leaving: 1 attempt goes on on this machine.", "1 agent goes on on this machine.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, tt.runtime)
			cmd, out := p.begin("--on-interrupt", tt.policy)
			_ = cmd.Process.Signal(syscall.SIGTERM)
			text, _ := io.ReadAll(out)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("status %d", code)
			}
			if tt.policy == "leave" && tt.runtime == "process" && !bytes.Contains(text, []byte(`cannot leave an agent running`)) {
				t.Errorf("it said %s", text)
			}
			if got, _, _ := p.run("runs", "cleanup"); got != tt.left {
				t.Errorf("left: %q, want %q", got, tt.left)
			}
			p.run("runs", "cleanup", "--cancel")
			if got, _, _ := p.run("runs", "cleanup"); got != "0 agents go on on this machine.\n" {
				t.Errorf("left in the end: %q", got)
			}
			if kept, _ := filepath.Glob(filepath.Join(p.cache, "kept", "*")); len(kept) > 0 {
				t.Errorf("folders are left: %v", kept)
			}
		})
	}
}

// TestAskedAboutAgents presses Ctrl-C on a terminal while an agent runs, goes on, and
// presses it again.
func TestAskedAboutAgents(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"leave", "stop"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, "sandbox")
			window, ended := p.newTerminal("apply", p.file)
			window.await("agent begins")
			for _, reply := range []string{"continue\r", answer + "\r"} {
				window.press("\x03")
				window.await("1 attempt runs on this machine. Leave them running")
				window.seen.Reset()
				window.press(reply)
				if reply == "continue\r" {
					window.await("The run continues.")
				}
			}
			if code := ended(); code != 130 {
				t.Errorf("status %d:\n%s", code, window.seen.String())
			}
			left, _, _ := p.run("runs", "cleanup", "--cancel")
			if want := map[string]string{"leave": "Ended 1 agent on this machine.\n", "stop": "Ended 0 agents on this machine.\n"}[answer]; left != want {
				t.Errorf("%q, want %q", left, want)
			}
		})
	}
}

// TestDeaf sees that a run goes on when nobody reads its output any more.
func TestDeaf(t *testing.T) {
	t.Parallel()
	p := newPatient(t, "sandbox")
	cmd, out := p.begin()
	out.Close()
	p.end()
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	if _, ran := p.finish(); ran != 0 {
		t.Errorf("%d steps were lost", ran)
	}
}
