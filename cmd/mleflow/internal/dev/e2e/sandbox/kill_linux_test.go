package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const workPipeline = `
variable "round" { type = number }
variable "count" {
  type    = number
  default = 1
}
variable "seconds" {
  type    = string
  default = "2"
}
locals { keys = { for i in range(var.count) : tostring(i) => i } }
step "download" "raw" { competition = "demo-cancer" }
step "prepare" "data" {
  competition = "demo-cancer"
  raw         = step.download.raw.tree
}
agent "worker" {
  image   = %[1]q
  command = ["/usr/bin/rogue", "work", var.seconds]
}
step "agent-run" "work" {
  for_each    = local.keys
  agent       = agent.worker
  competition = "demo-cancer"
  seed        = var.round * 1000 + each.value
  data        = step.prepare.data.public
  runtime     = %[2]q
  timeout     = "1m"
  resources {
    cpus   = 0.25
    memory = "64MiB"
    disk   = "16MiB"
  }
}
step "grade" "score" {
  for_each    = local.keys
  competition = "demo-cancer"
  submission  = step.agent-run.work[each.key].submission
  answers     = step.prepare.data.private
}
output "outcomes" { value = jsonencode([for s in values(step.agent-run.work) : s.outcome]) }
output "submissions" { value = values(step.agent-run.work)[*].submission }
output "stats" { value = jsonencode([for s in values(step.agent-run.work) : s.stats]) }
`

// killer kills mleflow while an agent works.
type killer struct {
	*host
	file string
	rng  *rand.Rand
	// hit counts the kills by where they hit.
	hit map[string]int
}

// TestKill kills mleflow with SIGKILL, MLEFLOW_SANDBOX_KILLS times in all,
// while it sets up, runs and harvests an agent. The next apply continues with
// an agent that runs, and does not start it twice; the result is that of an
// undisturbed run, and nothing is left.
func TestKill(t *testing.T) { killed(t, newHost(t)) }

func killed(t *testing.T, h *host) {
	k := &killer{host: h, file: h.write("work.hcl", fmt.Sprintf(workPipeline, h.image, h.runtime)), rng: rand.New(rand.NewPCG(3, 4)), hit: map[string]int{}}
	want, _ := h.apply(k.file, "-var", "round=0")
	delete(want, "stats")
	h.clean()
	total, goal := 0, times(t, "MLEFLOW_SANDBOX_KILLS", 10)
	for round := 1; total < goal && !t.Failed(); round++ {
		total += k.round(t, round, want)
		h.clean()
	}
	fmt.Printf("BenchmarkKill\t1\t%d kills\n", total)
	t.Logf("%d kills: %v", total, k.hit)
	if total >= 10 && k.hit[runs] == 0 {
		t.Errorf("no kill hit: %s", runs)
	}
	for _, where := range []string{before, after} { // few kills may miss these
		if total >= 50 && k.hit[where] == 0 {
			t.Errorf("no kill hit: %s", where)
		}
	}
	if stdout, stderr, code := h.run("cache", "verify", "--full"); code != 0 {
		t.Errorf("cache verify: exit %d\n%s%s", code, stdout, stderr)
	}
}

// Where a kill hit. An agent whose process was seen for less than startWindow
// may be one that containerd had not told mleflow of yet, which is started
// again.
const (
	before      = "before the agent"
	starts      = "agent starts"
	runs        = "agent runs"
	after       = "after the agent"
	startWindow = 500 * time.Millisecond
)

// round kills one pipeline until it ends all the same, one to three times.
func (k *killer) round(t *testing.T, round int, want map[string]string) (kills int) {
	w := watch()
	running, most := 0, 1+k.rng.IntN(3)
	for kills < most {
		where, killed := k.attack(t, round, kills)
		if !killed {
			break
		}
		kills++
		k.hit[where]++
		if where == runs {
			running++
		}
	}
	got, _ := k.apply(k.file, "-var", fmt.Sprint("round=", round))
	stats := got["stats"]
	delete(got, "stats")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("round %d: outputs differ from those of an undisturbed run:\n%s", round, diff)
	}
	started := len(w.stop())
	if running > 0 && !strings.Contains(stats, `"resumed":true`) {
		t.Errorf("round %d: the agent ran when mleflow was killed, and was not gone on with: %s", round, stats)
		if k.daemon != nil {
			log, _ := os.ReadFile(filepath.Join(k.daemon.Dir, "log"))
			t.Logf("%s", tail(string(log)))
		}
		for _, log := range k.logs() {
			t.Logf("%s", log)
		}
	}
	// Only a kill before the agent ran can lead to another start.
	if most := 1 + kills - running; started > most {
		t.Errorf("round %d: the agent was started %d times; %d kills, %d of them while it ran", round, started, kills, running)
	}
	return kills
}

// attack starts an apply, kills it at a random moment and says where it was.
func (k *killer) attack(t *testing.T, round, nth int) (where string, killed bool) {
	var seen time.Time
	if len(processes()) > 0 {
		seen = time.Now().Add(-startWindow) // it ran before
	}
	cmd := k.command("apply", k.file, "--json", "-var", fmt.Sprint("round=", round))
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	began, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<20)
		for told := false; lines.Scan(); {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Type == "step_started" && e.Kind == "agent-run" && !told {
				told = true
				close(began)
			}
		}
	}()
	select {
	case <-began:
	case <-finished:
	}
	// Set-up takes a few tenths of a second, the agent two seconds.
	var delay time.Duration
	switch (round + nth) % 4 {
	case 3: // as soon as the agent is seen
		for len(processes()) == 0 && !isDone(finished) {
			time.Sleep(time.Millisecond)
		}
	case 0:
		delay = time.Duration(k.rng.IntN(300)) * time.Millisecond
	case 1:
		delay = time.Duration(400+k.rng.IntN(1600)) * time.Millisecond
	default:
		delay = time.Duration(2100+k.rng.IntN(500)) * time.Millisecond
	}
	if k.server != nil && delay > 300*time.Millisecond { // set-up takes seconds
		for seen.IsZero() && !isDone(finished) {
			if len(processes()) > 0 {
				seen = time.Now()
			}
			time.Sleep(time.Millisecond)
		}
		delay = startWindow + time.Duration(k.rng.IntN(1000))*time.Millisecond
	}
	for until := time.Now().Add(delay); ; time.Sleep(5 * time.Millisecond) {
		if seen.IsZero() && len(processes()) > 0 {
			seen = time.Now()
		}
		if time.Now().After(until) || isDone(finished) {
			break
		}
	}
	alive := len(processes()) > 0
	_ = cmd.Process.Kill()
	<-finished
	_ = cmd.Wait()
	switch {
	case cmd.ProcessState.Exited():
		return "", false
	case alive && len(processes()) > 0 && time.Since(seen) < startWindow:
		return starts, true
	case alive && len(processes()) > 0:
		return runs, true
	case k.worked():
		return after, true
	}
	return before, true
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// worked reports whether the agent has left its whole submission.
func (k *killer) worked() bool { return len(kept(k.cache)) > 0 }

// kept lists the submissions in folders of agents that are kept.
func kept(cache string) (list []string) {
	for _, pattern := range []string{"kept/*/home/submission/submission.csv", "kept/*/volume/home/submission/submission.csv"} {
		found, _ := filepath.Glob(filepath.Join(cache, pattern))
		list = append(list, found...)
	}
	return list
}

// TestMachineDies kills containerd, its shims and everything in containers
// while four agents work and two have ended, starts containerd again, and
// applies again: only what was in flight is done again.
func TestMachineDies(t *testing.T) {
	h := newHost(t)
	file := h.write("work.hcl", fmt.Sprintf(workPipeline, h.image, h.runtime))
	args := []string{"-var", "round=1", "-var", "count=4", "-var", "seconds=3"}
	short := []string{"-var", "round=1", "-var", "count=4", "-var", "seconds=3", "-target", `step.agent-run.work["0"]`, "-target", `step.agent-run.work["1"]`}
	h.apply(file, short...)
	cmd := h.command(append([]string{"apply", file, "--json"}, args...)...)
	must(t, cmd.Start())
	// Both are in the middle of their submissions.
	for until := time.Now().Add(3 * time.Minute); len(kept(h.cache)) < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the agents do not start")
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	h.daemon.Crash(t)
	if list := processes(); len(list) > 0 {
		t.Fatalf("still alive: %v", list)
	}
	h.daemon.Restart(t)
	outputs, ran := h.apply(file, args...)
	// The grades are of the same submission, and so one action, done before.
	if ran != 2 {
		t.Errorf("%d steps ran, want the two attempts in flight", ran)
	}
	if got := outputs["outcomes"]; got != `["finished","finished","finished","finished"]` {
		t.Errorf("outcomes %s", got)
	}
	if strings.Contains(outputs["stats"], `"resumed":true`) {
		t.Errorf("an agent that died was gone on with: %s", outputs["stats"])
	}
	h.clean()
}

// TestMany runs eight agents at once under the leases, and more than fit.
func TestMany(t *testing.T) {
	h := newHost(t)
	file := h.write("work.hcl", fmt.Sprintf(workPipeline, h.image, h.runtime))
	w := watch()
	most, end := 0, make(chan struct{})
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		for {
			groups := map[string]bool{}
			for _, p := range processes() {
				groups[p.group] = true
			}
			most = max(most, len(groups))
			select {
			case <-end:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	outputs, _ := h.apply(file, "-var", "round=7", "-var", "count=12", "-var", "seconds=4", "--parallelism", "8")
	close(end)
	<-counted
	if started := len(w.stop()); started != 12 {
		t.Errorf("%d agents were seen, want 12", started)
	}
	if strings.Count(outputs["outcomes"], "finished") != 12 {
		t.Errorf("outcomes %s", outputs["outcomes"])
	}
	if most != 8 {
		t.Errorf("%d agents at once, want 8", most)
	}
	h.clean()
}

// TestDemo applies the demonstration in containers, from an image that mleflow
// makes of itself; the submissions are those of plain processes.
func TestDemo(t *testing.T) {
	h := newHost(t)
	text, err := os.ReadFile("../../../../../../pipelines/demo.hcl")
	must(t, err)
	file := h.write("demo.hcl", string(text)+"\noutput \"submissions\" { value = values(step.agent-run.solve)[*].submission }\n")
	contained, ran := h.apply(file, "-var", "runtime=containerd", "-var", "seeds=1")
	if ran == 0 {
		t.Error("nothing ran")
	}
	if _, again := h.apply(file, "-var", "runtime=containerd", "-var", "seeds=1"); again != 0 {
		t.Errorf("the second apply ran %d steps", again)
	}
	plain, _ := h.apply(file, "-var", "runtime=process", "-var", "seeds=1")
	// The same submissions, so the same scores; the boards say how they came about.
	if diff := cmp.Diff(plain["submissions"], contained["submissions"]); diff != "" || plain["submissions"] == "" {
		t.Errorf("processes and containers differ:\n%s", diff)
	}
	const open = "none (untrusted)"
	if board := contained["leaderboard"]; strings.Contains(board, open) || !strings.Contains(board, "All attempts: isolation container,") {
		t.Errorf("the board of containers:\n%s", board)
	}
	if board := plain["leaderboard"]; !strings.Contains(board, "All attempts: isolation "+open) {
		t.Errorf("the board of processes:\n%s", board)
	}
	h.clean()
}

// loseMachine applies until the thief's attempt has a checkpoint, and kills mleflow and
// everything in sandboxes at once.
func (p *plot) loseMachine(t *testing.T, file string) {
	t.Helper()
	cmd := p.command("apply", file)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	must(t, cmd.Start())
	for until := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if stdout, _, _ := p.run("cache", "ls", "step.agent-run.thief", "--json"); strings.Contains(stdout, `"checkpoint"`) {
			break
		}
		if time.Now().After(until) {
			t.Fatal("there is no checkpoint")
		}
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	if p.daemon != nil {
		p.daemon.Crash(t)
		p.daemon.Restart(t)
	}
	runs, _ := filepath.Glob(filepath.Join(p.cache, "sandbox", "runs", "*", "run.json"))
	for _, path := range runs {
		var first struct{ PID int }
		text, err := os.ReadFile(path)
		must(t, errors.Join(err, json.Unmarshal(text, &first)))
		for until := time.Now().Add(time.Minute); syscall.Kill(first.PID, syscall.SIGKILL) == nil && time.Now().Before(until); {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// logs are the ends of the logs of attempts, for a failure.
func (k *killer) logs() (list []string) {
	stdout, stderr, _ := k.run("logs", "latest")
	return []string{tail(stdout), tail(stderr)}
}
