package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster/slurm/slurmtest"
)

const slurmFile = `
remote_cache = "file://%[1]s/remote"
backend "slurm" "lab" {
  runs    = ["exec"]
  folder  = "%[1]s/nodes/jobs"
  cache_dir = "%[1]s/node-$SLURMD_NODENAME"
  retries = 100
  poll    = "200ms"
  env     = { MLEFLOW_WORKER_INTERVAL = "100ms" }
}
`

// TestSlurm applies pipelines on a real Slurm of two nodes: the demonstration
// gives the same actions, outputs and board as here, and a controller that is
// killed at random moments (MLEFLOW_CLUSTER_KILLS says how often) runs no step
// twice. A worker that is killed costs seconds, and says so.
func TestSlurm(t *testing.T) {
	c := slurmtest.Start(t)
	n := 0
	dir := func() string {
		n++
		d := filepath.Join(c.Dir, fmt.Sprint("lab", n)) // not the test's: nodes and controller see it
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Run("MatchesLocal", func(t *testing.T) {
		d := dir()
		matchesLocal(newLabIn(t, d, ofAgents(fmt.Sprintf(slurmFile, d))))
	})
	t.Run("ControllerKilled", func(t *testing.T) {
		killControllers(t, times(t, "MLEFLOW_CLUSTER_KILLS", 2), func(t *testing.T) *lab {
			d := dir()
			return newLabIn(t, d, fmt.Sprintf(slurmFile, d))
		})
	})
	t.Run("WorkerKilled", func(t *testing.T) {
		d := dir()
		// With the usual interval, the next worker would wait for the claim for 90 seconds.
		file := strings.Replace(fmt.Sprintf(slurmFile, d), `env     = { MLEFLOW_WORKER_INTERVAL = "100ms" }`, "", 1)
		killWorker(newLabIn(t, d, file), c.Conf)
	})
	t.Run("Preempted", func(t *testing.T) {
		d := dir()
		file := strings.Replace(ofAgents(fmt.Sprintf(slurmFile, d)), "retries = 100", "preemptible = true", 1)
		l := newLabIn(t, d, file)
		goesOn(l, takeNode)
		if _, err := exec.LookPath("curl"); err != nil {
			return
		}
		if listed, _, _ := l.run("attempts", "list", "latest", "--json"); !regexp.MustCompile(`"used": 2,\s+"allowed": 7,\s+"best_score": 0\.`).MatchString(listed) {
			t.Errorf("it did not keep the count of its queries:\n%s", listed)
		}
	})
}

// takeNode lets a more urgent job take the node of an attempt.
func takeNode(t *testing.T) {
	node := ""
	for limit := time.Now().Add(time.Minute); node == "" && time.Now().Before(limit); time.Sleep(200 * time.Millisecond) {
		text, _ := exec.Command("squeue", "--noheader", "--states=RUNNING", "--format=%N").Output()
		node = strings.TrimSpace(string(text))
	}
	time.Sleep(5 * time.Second) // it has a checkpoint
	if text, err := exec.Command("sbatch", "--partition=urgent", "--nodelist="+node, "--exclusive", "--output=/dev/null", "--wrap=sleep 30").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

// killWorker kills the worker of a step, which is started again at once.
func killWorker(l *lab, conf string) {
	t := l.t
	const pipeline = `step "exec" "long" { command = ["sh", "-c", "sleep 5; echo done"] }`
	if err := os.WriteFile(l.file, []byte(pipeline), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := l.command("apply", l.file, "--on", filepath.Join(l.dir, "cluster.hcl"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(time.Minute)
	for !killCommand("\x00worker\x00", "SLURM_CONF="+conf) && time.Now().Before(limit) {
		time.Sleep(100 * time.Millisecond)
	}
	err := cmd.Wait()
	if took := time.Since(start); err != nil || took > time.Minute {
		t.Errorf("%v after %s:\n%s", err, took, out.String())
	}
	for _, want := range []string{"to be started again: the worker ended with status 137", "start 2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	l.nothingLeft()
}

// killCommand kills a process that has been alive for a while, by what its command line
// and its environment contain.
func killCommand(command, variable string) bool {
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range entries {
		line, _ := os.ReadFile(path)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && bytes.Contains(line, []byte(command)) && bytes.Contains(env, []byte(variable)) {
			time.Sleep(2 * time.Second) // it has the claim
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}
