package e2e

import (
	"bytes"
	"encoding/json"
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

// durable is a pipeline of one attempt that counts to sixty. Its agents write a journal,
// a state of their own that they replace by renaming, or a file that they are in the
// middle of writing for most of the time.
const durable = `
variable "agent" {}
variable "runtime" {}
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
locals {
  begin = "cd $AGENT_DIR; echo $KEY > secret; [ -e %[1]s ] && echo reached > $CODE_DIR/reached; touch journal; "
  step  = "echo $n $${MLEFLOW_RESUME_COUNT:-0} >> journal; sleep 0.1; "
  end   = "cut -d' ' -f1 journal > $CODE_DIR/result; cp journal $CODE_DIR/journal; cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv"
  loops = {
    journal = "while n=$(wc -l < journal) && [ $n -lt 60 ]; do ${local.step} done; "
    state   = "n=$(cat state || echo 0); head -n $n journal > j; mv j journal; while [ $n -lt 60 ]; do ${local.step} n=$((n+1)); echo $n > s; mv s state; done; "
    writing = "while n=$(wc -l < journal) && [ $n -lt 60 ]; do head -c 4000000 /dev/zero | tr '\\000' $((n %% 10)) > large; ${local.step} done; cksum large > $CODE_DIR/large; "
  }
}
agent "counter" {
  command = ["/bin/sh", "-c", "${local.begin}${local.loops[var.agent]}${local.end}"]
  secrets = { KEY = "env:PLANTED" }
  env     = { MARK = "%[2]s" }
}
step "agent-run" "solve" {
  agent            = agent.counter
  competition      = "demo-digits"
  data             = step.prepare.data.public
  runtime          = var.runtime
  timeout          = "1m"
  on_loss          = "resume"
  checkpoint_every = "1s"
}
output "stats" { value = jsonencode(step.agent-run.solve.stats) }`

const planted = "hunter2-hunter2-hunter2"

// lives are the caches in which an attempt is begun, one a machine, with a remote cache.
type lives struct {
	t         *testing.T
	dir, mark string
	args      []string
	n         int
}

// TestDurableKilled kills everything at random moments, and lets the attempt go on on
// another machine (MLEFLOW_DURABLE_KILLS says how often).
func TestDurableKilled(t *testing.T) {
	agents, runtimes := []string{"journal", "state", "writing"}, []string{"process", "sandbox"}
	for n := range times(t, "MLEFLOW_DURABLE_KILLS", 2) {
		agent, runtime := agents[rand.N(len(agents))], runtimes[n%len(runtimes)]
		t.Run(fmt.Sprintf("%s/%s/%d", agent, runtime, n), func(t *testing.T) {
			l := newLives(t, agent, runtime)
			var last, used = -1, time.Duration(0)
			for range 1 + rand.N(2) {
				seen, took := l.killed(rand.N(6 * time.Second))
				last, used = max(last, seen), used+took
			}
			began := time.Now()
			l.finish(last, func() time.Duration { return used + time.Since(began) })
		})
	}
}

func newLives(t *testing.T, agent, runtime string) *lives {
	t.Helper()
	l := &lives{t: t, dir: t.TempDir(), mark: fmt.Sprint("mark", rand.Int64())}
	t.Setenv("PLANTED", planted)
	if err := os.WriteFile(filepath.Join(l.dir, "p.hcl"), fmt.Appendf(nil, durable, l.dir, l.mark), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MLEFLOW_REMOTE_CACHE", "file://"+filepath.Join(l.dir, "remote")) // get reads it, too
	l.args = []string{"apply", filepath.Join(l.dir, "p.hcl"), "-var", "agent=" + agent, "-var", "runtime=" + runtime}
	t.Cleanup(func() { _ = tree.Remove(l.dir) }) // folders of attempts cannot be written to
	t.Cleanup(l.killAgents)
	return l
}

// next is the next machine.
func (l *lives) next() *place {
	l.n++
	return &place{t: l.t, cache: filepath.Join(l.dir, "cache"+strconv.Itoa(l.n)), file: filepath.Join(l.dir, "p.hcl")}
}

// killed kills a machine some time after its agent has written something, and returns
// what it had counted to, and how long it lived.
func (l *lives) killed(after time.Duration) (seen int, took time.Duration) {
	l.t.Helper()
	p := l.next()
	cmd := p.command(l.args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for limit := time.Now().Add(time.Minute); l.counted(p) < 0 && time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
	}
	time.Sleep(after)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	<-ended
	took = time.Since(began)
	l.killAgents()
	return l.counted(p), took
}

// killAgents kills the processes of agents, which may have left the group.
func (l *lives) killAgents() {
	for found := true; found; {
		found = false
		entries, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range entries {
			env, _ := os.ReadFile(path)
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && bytes.Contains(env, []byte("MARK="+l.mark)) {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// counted is the last number in the journal of a machine, or -1.
func (l *lives) counted(p *place) int {
	last := -1
	_ = filepath.WalkDir(p.cache, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "journal" && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			last = max(last, bytes.Count(text, []byte("\n"))-1)
		}
		return nil
	})
	return last
}

// finish lets the attempt end on a further machine, and checks what it made, with what
// was counted to before and the time that all machines took.
func (l *lives) finish(last int, all func() time.Duration) {
	t := l.t
	t.Helper()
	p := l.next()
	stdout, stderr, status := p.run(append(l.args, "--json")...)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	code := filepath.Join(l.dir, "code")
	if _, stderr, status := p.run("get", "latest", "step.agent-run.solve.code", "-o", code); status != 0 {
		t.Fatal(stderr)
	}
	var want strings.Builder
	for n := range 60 {
		fmt.Fprintln(&want, n)
	}
	if text, err := os.ReadFile(find(code, "result")); err != nil || string(text) != want.String() {
		t.Errorf("%v: it counted %q", err, text)
	}
	if find(code, "reached") != "" && slices.Contains(l.args, "runtime=sandbox") {
		t.Error("the agent reached the folder with the answers")
	}
	if wall := wallOf(t, stdout); wall < 6*time.Second || wall > all() {
		t.Errorf("the attempt used %v of %v", wall, all())
	}
	// A step takes a tenth of a second or more, an interval and its checkpoint two and a
	// half seconds or less.
	if first := resumedAt(find(code, "journal")); last < 0 || last-first > 25 {
		t.Errorf("it had counted to %d, and went on at %d", last, first)
	}
	if out, _ := exec.Command("grep", "-rl", planted, filepath.Join(l.dir, "remote"), filepath.Join(p.cache, "objects")).Output(); len(out) > 0 {
		t.Errorf("the secret is in %s", out)
	}
}

// resumedAt is the number at which the last life of the attempt began, 0 if it began
// from the beginning.
func resumedAt(journal string) int {
	text, _ := os.ReadFile(journal)
	first, life := 0, "0"
	for line := range strings.Lines(string(text)) {
		if n, at, _ := strings.Cut(strings.TrimSpace(line), " "); at != life {
			first, _ = strconv.Atoi(n)
			life = at
		}
	}
	return first
}

// find returns the path of a file below a folder, or "".
func find(dir, name string) (found string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == name {
			found = path
		}
		return nil
	})
	return found
}

// wallOf is the time that the attempt used.
func wallOf(t *testing.T, events string) time.Duration {
	t.Helper()
	for text := range strings.Lines(events) {
		if l := decode(t, []byte(text)); l.Type == "output" && l.Name == "stats" {
			var stats struct {
				Wall float64 `json:"wall_seconds"`
			}
			if err := json.Unmarshal([]byte(l.Value), &stats); err != nil {
				t.Fatalf("%q: %v", l.Value, err)
			}
			return time.Duration(stats.Wall * float64(time.Second))
		}
	}
	t.Fatal("no stats")
	return 0
}
