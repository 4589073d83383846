package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/tree"
)

// tasks is how many steps of the pipeline run on the cluster.
const tasks = 8

// clusterPipeline has steps that note when they run, and that they were not
// alone. The last one runs here.
const clusterPipeline = `
variable "log" { type = string }
step "exec" "work" {
  for_each = toset([for i in range(%d) : tostring(i)])
  command  = ["sh", "-c", "exec 9>>$1/lock-$2; ! command -v flock >/dev/null || flock -n 9 || echo overlap $2 >>$1/log; echo ran $2 >>$1/log; sleep 0.$((2 + $2 %% 4)); echo done $2", "sh", var.log, each.key]
}
step "exec" "sum" {
  on      = "local"
  inputs  = { for k, s in step.exec.work : "f${k}" => s.stdout }
  command = ["sh", "-c", "cat inputs/*"]
}
output "all" { value = step.exec.sum.stdout }
`

const clusterFile = `
remote_cache = "file://%[1]s/remote"
backend "local" "lab" {
  runs    = ["exec"]
  folder  = "%[1]s/nodes"
  nodes   = ["a", "b"]
  cpus    = 4
  retries = 100
  env     = { MLEFLOW_WORKER_INTERVAL = "100ms" }
}
`

// lab is a pipeline with a cluster of processes.
type lab struct {
	*place
	dir string
	// log is the folder where steps note that they run; logs are the same folder as
	// this machine sees it on each node.
	log  string
	logs []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dir := t.TempDir()
	return newLabIn(t, dir, fmt.Sprintf(clusterFile, dir))
}

// newLabIn is a lab in a folder, with the text of its cluster file.
func newLabIn(t *testing.T, dir, cluster string) *lab {
	t.Helper()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("the program flock is missing")
	}
	t.Cleanup(func() { _ = tree.Remove(dir) }) // caches have folders that are read-only
	l := &lab{place: &place{t: t, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "p.hcl")}, dir: dir}
	for name, text := range map[string]string{"p.hcl": fmt.Sprintf(clusterPipeline, tasks), "cluster.hcl": cluster} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l.log = filepath.Join(dir, "log")
	l.logs = []string{l.log}
	if err := os.Mkdir(l.log, 0o755); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) args(more ...string) []string {
	return append([]string{"apply", l.file, "--on", filepath.Join(l.dir, "cluster.hcl"), "-var", "log=" + l.log, "--json"}, more...)
}

// finish applies to the end and checks that everything is right: the output is
// that of every step, no step ran beside itself, and nothing is left behind.
func (l *lab) finish() (ran map[string]int) {
	l.t.Helper()
	stdout, stderr, code := l.run(l.args()...)
	if code != 0 {
		l.t.Fatalf("the last apply ended with status %d:\n%s\n%s", code, stderr, tail(stdout))
	}
	if !strings.Contains(stdout, `"type":"output"`) || !strings.Contains(stdout, `"status":"ran"`) && !strings.Contains(stdout, `"status":"cached"`) {
		l.t.Fatalf("no output:\n%s", tail(stdout))
	}
	got := filepath.Join(l.dir, "all")
	if _, stderr, code := l.run("get", "latest", "step.exec.sum.stdout", "-o", got); code != 0 {
		l.t.Fatalf("get: %s", stderr)
	}
	text, err := os.ReadFile(filepath.Join(got, "stdout"))
	for i := range tasks {
		if !strings.Contains(string(text), fmt.Sprintf("done %d\n", i)) {
			l.t.Errorf("output %q, %v: step %d is missing", text, err, i)
		}
	}
	var log []byte
	for _, dir := range l.logs {
		text, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.t.Fatal(err)
		}
		log = append(log, text...)
	}
	ran = map[string]int{}
	for line := range strings.Lines(string(log)) {
		word, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "overlap" {
			l.t.Errorf("step %s ran beside itself", key)
			continue
		}
		ran[key]++
	}
	// A result that was found needed no job, so what its job left is still there; and a
	// job may have given its result and not ended yet.
	for until := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		stdout, stderr, code := l.run("runs", "cleanup", "--on", filepath.Join(l.dir, "cluster.hcl"))
		if code != 0 {
			l.t.Fatalf("cleanup: %s", stderr)
		}
		if strings.Contains(stdout, "0 jobs go on") || time.Now().After(until) {
			break
		}
	}
	l.nothingLeft()
	return ran
}

func tail(s string) string { return s[max(0, len(s)-3000):] }

// nothingLeft checks that no job, order or document about work is left.
func (l *lab) nothingLeft() {
	l.t.Helper()
	for _, dir := range []string{"nodes/jobs", "remote/orders", "remote/work"} {
		_ = filepath.WalkDir(filepath.Join(l.dir, dir), func(path string, e fs.DirEntry, err error) error {
			// A write to a folder that was killed leaves its beginning, under no one's name.
			if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), ".unfinished-") {
				l.t.Errorf("left behind: %s", path)
			}
			return nil
		})
	}
}

func times(t *testing.T, variable string, missing int) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return missing
}

// TestClusterControllerKilled kills the controller at random moments
// (MLEFLOW_CLUSTER_KILLS says how often) and applies again each time. Each time
// it finds what runs and goes on: every step runs exactly once.
func TestClusterControllerKilled(t *testing.T) {
	t.Parallel()
	killControllers(t, times(t, "MLEFLOW_CLUSTER_KILLS", 4), newLab)
}

func killControllers(t *testing.T, goal int, newLab func(*testing.T) *lab) {
	rng := rand.New(rand.NewPCG(3, 4))
	for total := 0; total < goal; {
		l := newLab(t)
		for total < goal {
			cmd := l.command(l.args()...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(rng.IntN(2500))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			timer.Stop()
			if cmd.ProcessState.Exited() {
				if code := cmd.ProcessState.ExitCode(); code != 0 {
					t.Fatalf("apply ended with status %d:\n%s", code, tail(out.String()))
				}
				break
			}
			total++
		}
		for key, n := range l.finish() {
			if n != 1 {
				t.Errorf("step %s ran %d times", key, n)
			}
		}
		t.Logf("%d kills", total)
	}
}

// TestClusterWorkersKilled kills workers, or makes them panic, at random moments. Others take over,
// never beside a worker that is alive, and the result is that of an undisturbed
// run.
func TestClusterWorkersKilled(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	rng := rand.New(rand.NewPCG(5, 6))
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		kills := 0
		defer func() { stopped <- kills }()
		for goal := times(t, "MLEFLOW_CLUSTER_KILLS", 4); kills < goal; {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(100+rng.IntN(400)) * time.Millisecond):
			}
			jobs, _ := filepath.Glob(filepath.Join(l.dir, "nodes", "jobs", "mleflow-*"))
			if len(jobs) == 0 {
				continue
			}
			var text []byte // of the last worker of one of them
			job := jobs[rng.IntN(len(jobs))]
			for n := 1; ; n++ {
				next, err := os.ReadFile(filepath.Join(job, fmt.Sprint("pid-", n)))
				if err != nil {
					break
				}
				text = next
			}
			signal := syscall.SIGKILL
			if kills%2 == 1 {
				signal = syscall.SIGQUIT // Go's runtime ends as after a panic
			}
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && syscall.Kill(pid, signal) == nil {
				kills++
			}
		}
	}()
	ran := l.finish()
	close(stop)
	t.Logf("%d kills, runs by step: %v", <-stopped, ran)
}

// TestClusterMatchesLocal applies the demonstration on a cluster and here: the
// same actions, outputs and board.
func TestClusterMatchesLocal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	matchesLocal(newLabIn(t, dir, ofAgents(fmt.Sprintf(clusterFile, dir))))
}

// failures are the events of steps that failed.
func failures(stdout string) (lines string) {
	for line := range strings.Lines(stdout) {
		if strings.Contains(line, `"status":"failed"`) {
			lines += line
		}
	}
	return lines
}

// ofAgents makes a cluster file run attempts, without isolation.
func ofAgents(cluster string) string {
	return strings.Replace(cluster, `runs    = ["exec"]`, "runs = [\"agent-run\"]\n  runtime = \"process\"", 1)
}

func matchesLocal(l *lab) { matches(l, "demo.hcl", "-var", "seeds=2") }

// matches applies a pipeline of ours on a cluster and here: the same actions, outputs
// and board.
func matches(l *lab, name string, args ...string) {
	t := l.t
	file, err := filepath.Abs(pipelines + name)
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"apply", file, "--json"}, args...)
	type finished struct {
		Type, Address, Action, On, Node string
		Outputs                         map[string]string
	}
	read := func(stdout string) map[string]finished {
		all := map[string]finished{}
		for line := range strings.Lines(stdout) {
			var f finished
			if json.Unmarshal([]byte(line), &f) == nil && f.Type == "step_finished" {
				all[f.Address] = f
			}
		}
		return all
	}
	stdout, stderr, code := l.run(append(args, "--on", filepath.Join(l.dir, "cluster.hcl"))...)
	if code != 0 {
		t.Fatalf("status %d there: %s\n%s", code, stderr, failures(stdout))
	}
	there := read(stdout)
	other := &place{t: t, cache: filepath.Join(l.dir, "here"), file: file, env: l.env}
	stdout, stderr, code = other.run(args...)
	if code != 0 {
		t.Fatalf("status %d here: %s\n%s", code, stderr, failures(stdout))
	}
	here := read(stdout)
	if len(here) == 0 || len(here) != len(there) {
		t.Fatalf("%d steps here, %d there", len(here), len(there))
	}
	nodes := map[string]bool{}
	for address, h := range here {
		c := there[address]
		delete(h.Outputs, "stats") // times and memory
		delete(c.Outputs, "stats")
		if placed := strings.HasPrefix(address, "step.agent-run."); placed != (c.On == "lab") || placed != (c.Node != "") {
			t.Errorf("%s ran on %q, node %q", address, c.On, c.Node)
		}
		nodes[c.Node] = true
		if c.Action != h.Action || fmt.Sprint(c.Outputs) != fmt.Sprint(h.Outputs) {
			t.Errorf("%s: %v there, %v here", address, c, h)
		}
	}
	l.nothingLeft()
	if got := slices.Sorted(func(yield func(string) bool) {
		for n := range nodes {
			if !yield(n) {
				return
			}
		}
	}); len(got) < 2 {
		t.Errorf("nodes %q", got)
	}
}

// TestClusterInterrupted interrupts the controller while workers run: with leave
// they go on and the next apply continues with them, with cancel nothing is left.
func TestClusterInterrupted(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"leave", "cancel"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.env = append(l.env, "MLEFLOW_CANARY="+canary)
			cmd := l.command(l.args("--on-interrupt", what)...)
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			interrupted := false
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				if !interrupted && bytes.Contains(lines.Bytes(), []byte(`"state":"running"`)) {
					interrupted = true
					_ = cmd.Process.Signal(os.Interrupt)
				}
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 || !interrupted {
				t.Fatalf("status %d, interrupted %v: %s", code, interrupted, stderr.String())
			}
			if what == "cancel" {
				l.nothingLeft()
			} else if !strings.Contains(stderr.String(), "on the cluster. The next apply with --on continues") {
				t.Errorf("it said %q", stderr.String())
			}
			for key, n := range l.finish() {
				if n != 1 && what == "leave" {
					t.Errorf("step %s ran %d times", key, n)
				}
			}
			l.noCanary("remote", "cache", "nodes")
		})
	}
}

// canary is a value in the environment of the controller and the workers that no
// file may have.
const canary = "canary-8c1f0a7d5e"

// noCanary looks for the canary in every byte below folders.
func (l *lab) noCanary(folders ...string) {
	l.t.Helper()
	for _, folder := range folders {
		files := 0
		_ = filepath.WalkDir(filepath.Join(l.dir, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			files++
			if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte(canary)) {
				l.t.Errorf("%s has the secret (%v)", path, err)
			}
			return nil
		})
		if files == 0 {
			l.t.Errorf("%s has no files", folder)
		}
	}
}

// TestClusterSecret gives an agent a secret, which it prints. The worker resolves
// the reference: no byte of the remote cache, of the caches or of the nodes has
// the value, while the agent had it. That it submits nothing is a result.
func TestClusterSecret(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.env = append(l.env, "MLEFLOW_CANARY="+canary)
	demo, err := os.ReadFile("../../../../../pipelines/demo.hcl")
	if err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprintf("command = [\"sh\", \"-c\", \"echo the token is $TOKEN, ${#TOKEN} long; test -n \\\"$TOKEN\\\" && touch %s/had\"]\n  secrets = { TOKEN = \"env:MLEFLOW_CANARY\" }", l.dir)
	text := strings.Replace(string(demo), `command = ["mleflow", "agent", "dummy"]`, strings.ReplaceAll(own, "${", "$${"), 1)
	cluster := strings.Replace(fmt.Sprintf(clusterFile, l.dir), `["exec"]`, `["agent-run"]`, 1)
	cluster = strings.Replace(cluster, "cpus ", "runtime = \"process\"\n  cpus ", 1)
	for name, text := range map[string]string{"p.hcl": text, "cluster.hcl": cluster} {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, code := l.run("apply", l.file, "--on", filepath.Join(l.dir, "cluster.hcl"), "-var", "seeds=1", "--json")
	if code != 0 {
		t.Fatalf("status %d: %s\n%s", code, stderr, tail(stdout))
	}
	if _, err := os.Stat(filepath.Join(l.dir, "had")); err != nil {
		t.Errorf("the agent did not get its secret: %v", err)
	}
	if !strings.Contains(stdout, fmt.Sprintf("%d long", len(canary))) || strings.Contains(stdout+stderr, canary) {
		t.Errorf("events:\n%s", tail(stdout))
	}
	l.noCanary("remote", "cache", "nodes")
}
