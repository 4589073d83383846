package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// livePipeline has two attempts of an agent that goes on when it is given a sign.
const livePipeline = `
agent "waiter" {
  command = ["/bin/sh", "-c", <<-EOT
    await() { until [ -e "$SIGNS/$1" ]; do sleep 0.05; done; }
    echo "attempt $MLEFLOW_SEED begins"
    await submit
    cp "$MLEFLOW_SAMPLE" "$SUBMISSION_DIR/submission.csv"
    printf 'submitted \033[2J\n'
    await end
    echo "attempt $MLEFLOW_SEED ends"
  EOT
  ]
  env = { SIGNS = "SIGNS-FOLDER" }
}
step "download" "raw" { competition = "demo-cancer" }
step "prepare" "data" {
  competition = "demo-cancer"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  for_each    = toset(["0", "1"])
  agent       = agent.waiter
  competition = "demo-cancer"
  seed        = tonumber(each.key)
  data        = step.prepare.data.public
  timeout     = "10m"
}
`

// stage is an apply under way whose events are read one by one.
type stage struct {
	*place
	signs  string
	apply  *exec.Cmd
	events *bufio.Scanner
	run    string
}

func newStage(t *testing.T) *stage {
	dir := t.TempDir()
	s := &stage{place: &place{t: t, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "live.hcl")}, signs: filepath.Join(dir, "signs")}
	if err := os.Mkdir(s.signs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file, []byte(strings.ReplaceAll(livePipeline, "SIGNS-FOLDER", s.signs)), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin applies, and returns when the run is known.
func (s *stage) begin(args ...string) {
	s.t.Helper()
	s.apply = s.command(append([]string{"apply", s.file, "--json", "--parallelism", "1"}, args...)...)
	out, err := s.apply.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.apply.Stderr = os.Stderr
	if err := s.apply.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.apply.Process.Kill(); _ = s.apply.Wait() })
	s.events = bufio.NewScanner(out)
	s.events.Buffer(nil, 16<<20)
	s.until(func(e event.Event) bool {
		started, ok := e.(event.RunStarted)
		s.run = started.Run
		return ok
	})
}

// until reads events up to one.
func (s *stage) until(last func(event.Event) bool) {
	s.t.Helper()
	for s.events.Scan() {
		e, err := event.Decode(s.events.Bytes())
		if err != nil {
			s.t.Fatalf("%s: %v", s.events.Bytes(), err)
		}
		if last(e) {
			return
		}
	}
	s.t.Fatalf("the run ended: %v", s.events.Err())
}

func (s *stage) sign(name string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.signs, name), nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// follower is a "logs -f" under way.
type follower struct {
	cmd    *exec.Cmd
	lines  *bufio.Reader
	stderr bytes.Buffer
}

func (s *stage) follow(args ...string) *follower {
	s.t.Helper()
	f := &follower{cmd: s.command(append([]string{"logs", "-f", s.run}, args...)...)}
	f.cmd.Stderr = &f.stderr
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = f.cmd.Process.Kill(); _ = f.cmd.Wait() })
	f.lines = bufio.NewReader(out)
	return f
}

// upTo reads lines up to one that holds a text.
func (f *follower) upTo(t *testing.T, text string) (all string) {
	t.Helper()
	for {
		line, err := f.lines.ReadString('\n')
		all += line
		if strings.Contains(line, text) {
			return all
		}
		if err != nil {
			t.Fatalf("no %q, %v:\n%s%s", text, err, all, f.stderr.String())
		}
	}
}

// end reads the rest; the command ends by itself.
func (f *follower) end(t *testing.T) string {
	t.Helper()
	rest, err := io.ReadAll(f.lines)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("logs -f: %v\n%s", err, f.stderr.String())
	}
	return string(rest)
}

func attemptAt(seed int) string { return fmt.Sprintf(`step.agent-run.solve["%d"]`, seed) }

// TestLive watches a run of real processes from others: what an agent prints, the
// phase it is in, what waits for it; first while it goes on by signs, then when
// the run is killed.
func TestLive(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.begin()
	// Nothing has printed anything yet, and which attempt is first is not known.
	one, two, all := s.follow(attemptAt(0)), s.follow(attemptAt(1)), s.follow()
	first, second := -1, -1
	s.until(func(e event.Event) bool {
		p, ok := e.(event.StepPhase)
		if !ok || p.Name != step.Running {
			return false
		}
		first = strings.Index("01", strings.Split(p.Address, `"`)[1])
		second = 1 - first
		return true
	})
	logs := [2]*follower{one, two}
	logs[first].upTo(t, fmt.Sprintf("attempt %d begins", first))
	all.upTo(t, fmt.Sprintf("attempt %d begins", first))
	s.checkUnderWay(first, second)

	s.sign("submit")
	s.until(func(e event.Event) bool {
		p, ok := e.(event.StepPhase)
		return ok && p.Submission == step.SubmissionValid
	})
	text, stderr, code := s.place.run("show", s.run)
	for _, want := range []string{"state     running", "step.agent-run.solve  0/2, 1 running", " of 10m", "submission valid", "Waiting: 1 for a slot of --parallelism (held by 1)", "submitted"} {
		if !strings.Contains(text, want) || strings.Contains(text, "\x1b") || code != 0 {
			t.Errorf("exit status %d, no %q in:\n%s%s", code, want, text, stderr)
		}
	}

	s.sign("end")
	if rest := logs[first].end(t); !strings.Contains(rest, fmt.Sprintf("attempt %d ends", first)) || strings.Contains(rest, "\x1b") {
		t.Errorf("the first log ends with %q", rest)
	}
	if rest := logs[second].end(t); !strings.Contains(rest, fmt.Sprintf("attempt %d begins", second)) || strings.Contains(rest, fmt.Sprintf("attempt %d", first)) {
		t.Errorf("the second log is %q", rest)
	}
	if rest := all.end(t); !strings.Contains(rest, fmt.Sprintf("attempt %d ends", second)) || strings.Count(rest, "==> "+attemptAt(second)) != 1 {
		t.Errorf("all logs end with %q", rest)
	}
	if err := s.apply.Wait(); err != nil {
		t.Fatal(err)
	}
	if text, _, _ := s.place.run("show", s.run); strings.Contains(text, "running") {
		t.Errorf("a run that has ended is shown as\n%s", text)
	}
	s.checkKilled()
}

// checkUnderWay compares what show says of the run with what is known of it.
func (s *stage) checkUnderWay(first, second int) {
	s.t.Helper()
	text, stderr, code := s.place.run("show", s.run, "--json")
	var got struct {
		UnderWay struct {
			Blocks []struct {
				Block          string
				Steps, Running int
			}
			Running []struct {
				Address string
				Phase   step.Phase
			}
			Waiting []event.Wait
		} `json:"under_way"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 {
		s.t.Fatalf("exit status %d, %v\n%s%s", code, err, text, stderr)
	}
	u := got.UnderWay
	if len(u.Running) != 1 || u.Running[0].Address != attemptAt(first) || u.Running[0].Phase.Name != step.Running || u.Running[0].Phase.LimitMillis != 600_000 {
		s.t.Errorf("running: %+v", u.Running)
	}
	if len(u.Waiting) != 1 || u.Waiting[0] != (event.Wait{Resource: "slots", Steps: 1, Next: attemptAt(second), Holders: 1}) {
		s.t.Errorf("waiting: %+v", u.Waiting)
	}
	if n := len(u.Blocks); n != 3 || u.Blocks[n-1].Block != "step.agent-run.solve" || u.Blocks[n-1].Steps != 2 || u.Blocks[n-1].Running != 1 {
		s.t.Errorf("blocks: %+v", u.Blocks)
	}
}

// checkKilled kills a run whose log is followed.
func (s *stage) checkKilled() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.signs, "end")); err != nil {
		s.t.Fatal(err)
	}
	s.begin("-force", "step.agent-run.solve")
	address := ""
	s.until(func(e event.Event) bool {
		start, ok := e.(event.StepStarted)
		address = start.Address
		return ok && start.Kind == "agent-run"
	})
	log := s.follow(address)
	log.upTo(s.t, "submitted")
	if err := s.apply.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	log.end(s.t)
	if !strings.Contains(log.stderr.String(), "has ended and "+address+" has not") {
		s.t.Errorf("told %q", log.stderr.String())
	}
}
