package kubernetes

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// onNode2 runs jobs on the second node only.
func onNode2(c *Config) { c.NodeSelector = map[string]string{"kubernetes.io/hostname": "node2"} }

// preferNode2 is a Near whose favourite is the second node.
func preferNode2() string {
	for i := 0; ; i++ {
		if near := strconv.Itoa(i); cluster.Rank(near, []string{"node1", "node2"})[0] == "node2" {
			return near
		}
	}
}

// script runs .ci/kubernetes/cluster.
func (l *lab) script(args ...string) {
	l.t.Helper()
	cmd := exec.Command("../../../.ci/kubernetes/cluster", args...)
	cmd.Env = append(os.Environ(), "LAB="+l.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		l.t.Fatalf("cluster %v: %v\n%s", args, err, out)
	}
}

// kill kills a part of a node, such as its kubelet.
func (l *lab) kill(node, part string) {
	l.t.Helper()
	text, err := os.ReadFile(l.dir + "/run/" + node + "/" + part + ".pid")
	if err != nil {
		l.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 2 {
		l.t.Fatal(pid, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		l.t.Fatal(err)
	}
}

func TestRealJobsWithOneNearMeet(t *testing.T) {
	l := realCluster(t, nil)
	near := preferNode2()
	var names []string
	for range 4 {
		names = append(names, l.start("true", func(j *cluster.Job) { j.Near = near }))
	}
	for _, name := range names {
		if s := l.await(name, 2*time.Minute, is(cluster.Succeeded, "")); s.Node != "node2" {
			t.Errorf("ran on %s, though it prefers node2", s.Node)
		}
	}
}

func TestRealAPIServerRestarts(t *testing.T) {
	l := realCluster(t, nil)
	name := l.start("sleep 4; exit 1", func(j *cluster.Job) { j.Retries = 0 })
	l.await(name, time.Minute, is(cluster.Running, ""))
	l.kill("1", "apiserver")
	time.Sleep(6 * time.Second) // the job ends while no one can tell
	l.script("restart", "apiserver", "1")
	l.await(name, 2*time.Minute, is(cluster.Failed, "Error"))
	later := l.start("true", nil)
	l.await(later, time.Minute, is(cluster.Succeeded, ""))
}

func TestRealKubeletRestarts(t *testing.T) {
	l := realCluster(t, onNode2)
	name := l.start("sleep 8", nil)
	l.await(name, time.Minute, is(cluster.Running, ""))
	l.kill("2", "kubelet")
	time.Sleep(3 * time.Second) // shorter than a silence that counts
	l.script("restart", "kubelet", "2")
	if s := l.await(name, 2*time.Minute, func(s cluster.Status) bool { return s.State.Ended() }); s.State != cluster.Succeeded || s.Starts != 1 {
		t.Errorf("%+v", s)
	}
}

func TestRealEviction(t *testing.T) {
	l := realCluster(t, nil)
	near := preferNode2()
	name := l.start("sleep 6", func(j *cluster.Job) { j.Near, j.Retries = near, 1 })
	l.await(name, time.Minute, func(s cluster.Status) bool { return s.State == cluster.Running && s.Node == "node2" })
	t.Cleanup(func() { l.kubectl("uncordon", "node2") })
	if out, err := l.kubectl("drain", "node2", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--disable-eviction=false"); err != nil {
		t.Fatal(out)
	}
	if s := l.await(name, 2*time.Minute, func(s cluster.Status) bool { return s.State.Ended() }); s.State != cluster.Succeeded || s.Starts != 2 || s.Node != "node1" {
		t.Errorf("%+v", s)
	}
	l.saw(name, "Evicted")
}

// saw reports an error unless a job was once pending for a reason.
func (l *lab) saw(name, reason string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all[name] {
		if s.Reason == reason {
			return
		}
	}
	l.t.Errorf("never %s: %+v", reason, l.all[name])
}

func TestRealPreemption(t *testing.T) {
	low := realCluster(t, func(c *Config) { onNode2(c); c.PriorityClass = "mleflow-low" })
	high := realCluster(t, func(c *Config) { onNode2(c); c.PriorityClass = "mleflow-high" })
	for name, value := range map[string]string{"mleflow-low": "1", "mleflow-high": "1000"} {
		if out, err := low.kubectl("create", "priorityclass", name, "--value="+value); err != nil && !strings.Contains(out, "exists") {
			t.Fatal(out)
		}
	}
	most := func(j *cluster.Job) { j.Needs.CPUs, j.Retries = 1.5, 1 }
	victim := low.start("sleep 30", most)
	low.await(victim, time.Minute, is(cluster.Running, ""))
	winner := high.start("sleep 4", most)
	high.await(winner, 2*time.Minute, is(cluster.Succeeded, ""))
	if s := low.await(victim, 2*time.Minute, func(s cluster.Status) bool { return s.State.Ended() }); s.State != cluster.Succeeded || s.Starts != 2 {
		t.Errorf("%+v", s)
	}
	low.saw(victim, "Preempted")

	// Each preemption is a retry: without any left, the machines have failed.
	last := low.start("sleep 60", func(j *cluster.Job) { j.Needs.CPUs = 1.5 })
	low.await(last, time.Minute, is(cluster.Running, ""))
	winner = high.start("sleep 4", most)
	if s := low.await(last, 2*time.Minute, func(s cluster.Status) bool { return s.State.Ended() }); s.State != cluster.Failed || s.Reason != "Preempted" || s.Starts != 1 || s.Final {
		t.Errorf("%+v", s)
	}
	high.await(winner, time.Minute, is(cluster.Succeeded, ""))
}

// TestRealNodeIsLost kills everything on the second node, and its network.
func TestRealNodeIsLost(t *testing.T) {
	l := realCluster(t, nil)
	near := preferNode2()
	name := l.start("sleep 5", func(j *cluster.Job) { j.Near, j.Retries = near, 1 })
	l.await(name, time.Minute, func(s cluster.Status) bool { return s.State == cluster.Running && s.Node == "node2" })
	start := time.Now()
	l.script("kill", "2")
	t.Cleanup(func() { l.script("node", "2") })
	s := l.await(name, 5*time.Minute, func(s cluster.Status) bool { return s.State.Ended() })
	if s.State != cluster.Succeeded || s.Starts != 2 || s.Node != "node1" {
		t.Errorf("%+v", s)
	}
	t.Logf("restarted and done %v after the node was lost", time.Since(start).Round(time.Second))
	l.saw(name, "NodeLost")
}

// TestRealPodDoesNotStart has a cache folder that no node has: only events say so.
func TestRealPodDoesNotStart(t *testing.T) {
	l := realCluster(t, func(c *Config) { c.Cache = &Cache{Path: "/none/such"} })
	name := l.start("true", nil)
	s := l.await(name, 2*time.Minute, func(s cluster.Status) bool { return s.State.Ended() })
	if s.State != cluster.Failed || s.Reason != "FailedMount" || !strings.Contains(s.Message, "/none/such") {
		t.Errorf("%+v", s)
	}
}

// TestRealGPUs has two fake GPUs on each node: a job gets what it asks for, and waits
// where no node has as many.
func TestRealGPUs(t *testing.T) {
	l := realCluster(t, nil)
	nodes, err := l.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.Has.GPUs != 2 {
			t.Errorf("%+v, want 2 GPUs", n)
		}
	}
	for gpus, script := range map[int]string{1: "[ $(ls -d /dev/fakegpu* | wc -l) = 1 ] || exit 2", 2: "[ -c /dev/fakegpu0 -a -c /dev/fakegpu1 ] || exit 2"} {
		name := l.start(script, func(j *cluster.Job) { j.Needs.GPUs = gpus })
		l.await(name, time.Minute, is(cluster.Succeeded, ""))
	}
	name := l.start("true", func(j *cluster.Job) { j.Needs.GPUs = 3 })
	l.await(name, time.Minute, is(cluster.Pending, "Unschedulable"))
}
