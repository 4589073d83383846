package kubernetes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// A real cluster, as .ci/kubernetes/cluster makes it, in the folder MLEFLOW_KUBERNETES.
// It has the objects of manifests.yaml, and the backend only their permissions. Its nodes have the image localhost/mleflow:1, which has a shell.
type lab struct {
	t   *testing.T
	dir string
	*Backend
	mu   sync.Mutex
	last map[string]cluster.Status
	all  map[string][]cluster.Status
}

func realCluster(t *testing.T, change func(*Config)) *lab {
	dir := os.Getenv("MLEFLOW_KUBERNETES")
	if dir == "" {
		t.Skip("MLEFLOW_KUBERNETES names no folder with a cluster: .ci/test-kubernetes makes one")
	}
	c := Config{
		Kubeconfig: dir + "/run/controller.kubeconfig", Namespace: "mleflow", Image: "localhost/mleflow:1", Command: []string{"/bin/sh", "-c"},
		PodSecurity: Restricted, PullTimeout: "6s", LostAfter: "5s",
	}
	if change != nil {
		change(&c)
	}
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, dir: dir, Backend: b, last: map[string]cluster.Status{}, all: map[string][]cluster.Status{}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Watch(ctx, l.see, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error("watch:", err)
		}
	})
	return l
}

func (l *lab) see(s cluster.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[s.Job] = s
	l.all[s.Job] = append(l.all[s.Job], s)
}

// start starts a job that runs a script, and removes it in the end.
func (l *lab) start(script string, change func(*cluster.Job)) string {
	l.t.Helper()
	action := fmt.Sprintf("%032x%032x", rand.Uint64(), rand.Uint64())
	j := cluster.Job{Name: cluster.JobName(action), Action: action, Address: `step.test.x["` + l.t.Name() + `"]`, Args: []string{script}, Grace: 2 * time.Second,
		Needs: cluster.Needs{CPUs: 0.05, MemoryBytes: 64 << 20}}
	if change != nil {
		change(&j)
	}
	if err := l.Start(l.t.Context(), j); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { l.Cancel(context.Background(), j.Name) })
	return j.Name
}

// await waits until a status is as wanted.
func (l *lab) await(name string, limit time.Duration, want func(cluster.Status) bool) cluster.Status {
	l.t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		l.mu.Lock()
		s := l.last[name]
		all := l.all[name]
		l.mu.Unlock()
		if want(s) {
			return s
		}
		if time.Now().After(end) {
			out, _ := l.kubectl("get", "job,pod", "-n", "mleflow", "-l", jobLabel+"="+name, "-o", "yaml")
			l.t.Fatalf("after %v %s has been\n%+v\n%s", limit, name, all, out)
		}
	}
}

func (l *lab) kubectl(args ...string) (string, error) {
	out, err := exec.Command(l.dir+"/bin/kubectl", append([]string{"--kubeconfig", l.dir + "/run/admin.kubeconfig"}, args...)...).CombinedOutput()
	return string(out), err
}

// pod is the name of the job's pod.
func (l *lab) pod(name string) string {
	l.t.Helper()
	out, err := l.kubectl("get", "pod", "-n", "mleflow", "-l", jobLabel+"="+name, "-o", "jsonpath={.items[-1].metadata.name}")
	if err != nil {
		l.t.Fatal(out, err)
	}
	return out
}

func is(state cluster.State, reason string) func(cluster.Status) bool {
	return func(s cluster.Status) bool { return s.State == state && (reason == "" || s.Reason == reason) }
}

func TestRealOutcomes(t *testing.T) {
	l := realCluster(t, nil)
	for _, c := range []struct {
		name, script string
		change       func(*cluster.Job)
		state        cluster.State
		reason       string
		starts       int
		refused      bool
		message      string
	}{
		{"done", "exit 0", nil, cluster.Succeeded, "", 1, false, ""},
		{"failed", "exit 1", nil, cluster.Failed, "Error", 1, false, "exit status 1"},
		{"retried", "exit 1", func(j *cluster.Job) { j.Retries = 1 }, cluster.Failed, "Error", 2, false, ""},
		{"refused", "exit 78", func(j *cluster.Job) { j.Retries = 5 }, cluster.Failed, "Error", 1, true, ""},
		{"memory", "tail /dev/zero", nil, cluster.Failed, "OOMKilled", 1, false, ""},
		{"deadline", "trap '' TERM; sleep 100", func(j *cluster.Job) { j.Deadline = 3 * time.Second; j.Retries = 3 }, cluster.Failed, "DeadlineExceeded", 1, false, "deadline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := l.start(c.script, c.change)
			s := l.await(name, 2*time.Minute, func(s cluster.Status) bool { return s.State.Ended() })
			if s.State != c.state || s.Reason != c.reason || s.Starts != c.starts || s.Final != c.refused || s.Node == "" || !strings.Contains(s.Message, c.message) {
				t.Errorf("%+v, want %+v", s, c)
			}
		})
	}
}

func TestRealImageIsMissing(t *testing.T) {
	l := realCluster(t, func(c *Config) { c.Image = "localhost:1/none/such:9" })
	name := l.start("true", func(j *cluster.Job) { j.Retries = 3 })
	s := l.await(name, time.Minute, func(s cluster.Status) bool { return s.State.Ended() })
	if s.State != cluster.Failed || s.Starts != 0 || !strings.Contains(s.Reason, "Image") || !strings.Contains(s.Message, "localhost:1/none/such:9") {
		t.Errorf("%+v", s)
	}
	// Another controller reads the same verdict, and can start the job again.
	again := realCluster(t, func(c *Config) { c.PullTimeout = "1h" })
	if other := again.await(name, time.Minute, is(cluster.Failed, "")); other.Reason != s.Reason || other.Message != s.Message {
		t.Errorf("another controller sees %+v, not %+v", other, s)
	}
	if err := again.Start(t.Context(), cluster.Job{Name: name, Args: []string{"true"}}); err != nil {
		t.Fatal(err)
	}
	again.await(name, time.Minute, is(cluster.Succeeded, ""))
}

func TestRealDoesNotFit(t *testing.T) {
	l := realCluster(t, nil)
	name := l.start("true", func(j *cluster.Job) { j.Needs.GPUs = 1000 })
	if s := l.await(name, time.Minute, is(cluster.Pending, "Unschedulable")); !strings.Contains(s.Message, "nvidia.com/gpu") {
		t.Errorf("%+v", s)
	}
}

func TestRealAdoptsAndReplaces(t *testing.T) {
	l := realCluster(t, nil)
	var j cluster.Job
	name := l.start("while [ ! -e /tmp/go ]; do sleep 0.2; done", func(job *cluster.Job) { j = *job })
	l.await(name, time.Minute, is(cluster.Running, ""))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := l.Start(t.Context(), j); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if out, err := l.kubectl("exec", "-n", "mleflow", l.pod(name), "--", "touch", "/tmp/go"); err != nil {
		t.Logf("exec: %s", out)
		l.Cancel(t.Context(), name)
		l.await(name, time.Minute, is(cluster.Gone, ""))
		return
	}
	if s := l.await(name, time.Minute, is(cluster.Succeeded, "")); s.Starts != 1 {
		t.Errorf("%+v", s)
	}
	j.Args = []string{"exit 1"}
	if err := l.Start(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	l.await(name, time.Minute, is(cluster.Failed, "Error"))
	if err := l.Remove(t.Context(), name, "mleflow-0000"); err != nil {
		t.Fatal(err)
	}
	l.await(name, time.Minute, is(cluster.Gone, ""))
}

func TestRealCancelGivesTime(t *testing.T) {
	cache := t.TempDir()
	if err := os.Chmod(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	l := realCluster(t, func(c *Config) { c.Cache = &Cache{Path: cache} })
	name := l.start(`trap 'sleep 1; echo clean > /var/cache/mleflow/end; exit 1' TERM; while :; do sleep 0.2; done`, func(j *cluster.Job) { j.Grace = 20 * time.Second; j.Retries = 3 })
	l.await(name, time.Minute, is(cluster.Running, ""))
	if err := l.Cancel(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	l.await(name, time.Minute, is(cluster.Gone, ""))
	if text, err := os.ReadFile(cache + "/end"); err != nil {
		t.Errorf("when the job was gone its worker had not ended: %q, %v", text, err)
	}
}
