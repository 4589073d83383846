package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
)

const (
	planted      = "hunter2-hunter2-hunter2"
	plantedModel = "sk-hunter3-hunter3-hunter3"
	// durableLimit is the time limit of the endless agent.
	durableLimit = 8 * time.Second
)

// losses are what can happen to an attempt: its node is gone with everything, and it
// goes on on another one; the power fails, and the node comes back with what was on its
// disk; mleflow alone dies, and is started again.
var losses = []string{"node", "power", "controller"}

// lives are those of an attempt.
type lives struct {
	t              *testing.T
	dir, mark      string
	agent, runtime string
	loss           string
	args, env      []string
	daemon         *containerdtest.Daemon
	n              int
	// seen are the lines of the journal that were seen, by the life that was lost, and
	// took is how long all lives took.
	seen [][]string
	took time.Duration
	// taken is the number of the last checkpoint that the log of the last life names.
	taken int
}

// TestDurableKilled kills attempts at random moments and lets them go on
// (MLEFLOW_DURABLE_KILLS says how often).
func TestDurableKilled(t *testing.T) {
	agents := []string{"journal", "state", "writing", "trained", "asking", "endless"}
	runtimes := strings.Fields(os.Getenv("MLEFLOW_DURABLE_RUNTIMES"))
	if len(runtimes) == 0 {
		runtimes = []string{"process", "sandbox"}
	}
	all := &tally{rows: map[string]outcomes{}}
	t.Cleanup(func() { all.tell(t) })
	for n := range times(t, "MLEFLOW_DURABLE_KILLS", 2) {
		agent, runtime, loss := agents[rand.N(len(agents))], runtimes[n%len(runtimes)], losses[rand.N(len(losses))]
		t.Run(fmt.Sprintf("%s/%s/%s/%d", runtime, loss, agent, n), func(t *testing.T) {
			t.Parallel()
			l := newLives(t, agent, runtime, loss)
			for range 1 + rand.N(2) {
				l.killed(rand.N(9 * time.Second))
			}
			l.finish(all)
		})
	}
}

func newLives(t *testing.T, agent, runtime, loss string) *lives {
	t.Helper()
	if loss == "power" && os.Geteuid() != 0 {
		t.Skip("only root can lose a file system")
	}
	l := &lives{t: t, dir: t.TempDir(), mark: fmt.Sprint("mark", rand.Int64()), agent: agent, runtime: runtime, loss: loss}
	file := filepath.Join(l.dir, "p.hcl")
	l.args = []string{"apply", file, "-var", "agent=" + agent, "-var", "runtime=" + runtime}
	l.env = []string{"PLANTED=" + planted, "PLANTED_MODEL=" + plantedModel}
	switch {
	case agent == "endless":
		l.args = append(l.args, "-var", "timeout="+durableLimit.String())
	case agent == "asking":
		l.args = append(l.args, "-var", "model="+modeltest.StartAt(t, &modeltest.Server{Key: plantedModel}, "127.0.0.2:0")+"/v1")
	}
	if loss == "node" {
		l.env = append(l.env, "MLEFLOW_REMOTE_CACHE=file://"+filepath.Join(l.dir, "remote")) // get reads it, too
	}
	if runtime == "containerd" {
		l.daemon = containerdtest.Start(t)
		l.env = append(l.env, "CONTAINERD_ADDRESS="+l.daemon.Options.Socket, "MLEFLOW_STATE_DIR="+l.daemon.Dir)
	}
	t.Cleanup(func() { unmount(l.dir); _ = tree.Remove(l.dir) }) // folders of attempts cannot be written to
	t.Cleanup(l.killAgents)
	if loss == "power" {
		l.plug()
	}
	text, err := os.ReadFile("testdata/durable.hcl")
	if err == nil {
		text = []byte(strings.NewReplacer("@DIR@", l.dir, "@MARK@", l.mark).Replace(string(text)))
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// next is the place of the next life: with a node that is gone, another one.
func (l *lives) next() *place {
	if l.n++; l.loss != "node" {
		return &place{t: l.t, cache: filepath.Join(l.dir, "disk", "cache"), file: filepath.Join(l.dir, "p.hcl"), env: l.env}
	}
	return &place{t: l.t, cache: filepath.Join(l.dir, "cache"+strconv.Itoa(l.n)), file: filepath.Join(l.dir, "p.hcl"), env: l.env}
}

// killed kills a life some time after its agent has written something.
func (l *lives) killed(after time.Duration) {
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
	lines := l.watch(p, ended, after)
	l.lose(cmd, ended)
	l.took += time.Since(began)
	if now := journal(newest(p.cache, "journal")); len(now) > 0 {
		lines = now
	}
	l.seen, l.taken = append(l.seen, lines), l.lastCheckpoint(p)
	if l.loss == "power" {
		l.cut()
	}
}

// watch returns the journal that it saw last, some time after it saw the first line, or
// when the life has ended.
func (l *lives) watch(p *place, ended chan error, after time.Duration) (lines []string) {
	l.t.Helper()
	at, kill := "", time.Now().Add(5*time.Minute)
	for ; time.Now().Before(kill) && len(ended) == 0; time.Sleep(50 * time.Millisecond) {
		if at == "" {
			at = newest(p.cache, "journal")
		}
		now := journal(at)
		if len(lines) == 0 && len(now) > 0 {
			kill = time.Now().Add(after)
		}
		if len(now) > 0 {
			lines = now
		}
	}
	if len(lines) == 0 && len(ended) == 0 {
		l.t.Fatal("the agent wrote nothing")
	}
	return lines
}

// lose ends what the loss ends.
func (l *lives) lose(cmd *exec.Cmd, ended chan error) {
	if l.loss == "controller" {
		_ = cmd.Process.Kill()
		<-ended
		return
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	<-ended
	if l.daemon != nil {
		l.daemon.Crash(l.t)
	}
	l.killAgents()
	if l.daemon != nil {
		l.daemon.Restart(l.t)
	}
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

// journal returns the whole lines of a journal.
func journal(path string) []string {
	text, _ := os.ReadFile(path)
	lines := strings.SplitAfter(string(text), "\n")
	return lines[:len(lines)-1]
}

// finish lets the attempt end, and checks what it made.
func (l *lives) finish(all *tally) {
	t := l.t
	t.Helper()
	var sum outcomes
	defer func() { all.add(l, sum) }()
	p := l.next()
	began := time.Now()
	stdout, stderr, status := p.run(append(l.args, "--json")...)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	l.took += time.Since(began)
	code := filepath.Join(l.dir, "code")
	if _, stderr, status := p.run("get", "latest", "step.agent-run.solve.code", "-o", code); status != 0 {
		t.Fatal(stderr)
	}
	if newest(code, "reached") != "" && l.runtime != "process" {
		t.Error("the agent reached the folder with the answers")
	}
	from := l.wentOnFrom(stdout)
	t.Logf("it went on from checkpoint %d after checkpoint %d", from, l.taken)
	if from != 0 && from < l.taken && l.loss != "node" {
		t.Error("a checkpoint that was taken is lost")
	}
	kept := journal(newest(code, "journal"))
	lost, worst := l.lost(kept)
	// A step takes a tenth of a second or more, an interval and its checkpoint far less
	// than three and a half seconds.
	if worst > 35 {
		t.Errorf("a loss cost %d steps", worst)
	}
	wall := wallOf(t, stdout)
	if wall > l.took {
		t.Errorf("the attempt used %v of %v", wall, l.took)
	}
	used := span(kept) + lost
	sum = outcomes{steps: worst, lost: lost, over: used - wall}
	if l.agent == "endless" {
		if wall < durableLimit || wall > durableLimit+5*time.Second || used > wall+lost+time.Second {
			t.Errorf("the attempt used %v of %v, with what was lost %v", wall, durableLimit, used)
		}
	} else {
		l.checkMade(code, wall)
	}
	if out, _ := exec.Command("grep", "-rlE", planted+"|"+plantedModel, filepath.Join(l.dir, "remote"), filepath.Join(p.cache, "objects"), filepath.Join(p.cache, "index")).Output(); len(out) > 0 {
		t.Errorf("a secret is in %s", out)
	}
	p.verify()
}
