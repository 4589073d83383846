package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
	"k8s.io/client-go/rest"
)

// TestKwok starts MLEFLOW_KWOK jobs on 1,000 nodes that kwok pretends, and prints
// the times, memory and API requests of the backend as a benchmark does. The heap is
// with the test's own record of all statuses.
func TestKwok(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("MLEFLOW_KWOK"))
	if err != nil {
		t.Skip("MLEFLOW_KWOK is not set to the number of jobs")
	}
	l := realCluster(t, func(c *Config) {
		c.NodeSelector = map[string]string{"type": "kwok"}
		c.Tolerations = []Toleration{{Key: "kwok.x-k8s.io/node", Operator: "Exists"}}
	})
	kwok := exec.Command(l.dir+"/bin/kwok", "--kubeconfig", l.dir+"/run/admin.kubeconfig", "--config", "../../../.ci/kubernetes/kwok.yaml",
		"--manage-nodes-with-label-selector", "type=kwok", "--node-lease-duration-seconds", "40")
	var log bytes.Buffer
	kwok.Stdout, kwok.Stderr = &log, &log
	if err := kwok.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kwok.Process.Kill()
		kwok.Wait()
		l.kubectl("delete", "nodes", "-l", "type=kwok", "--wait=false")
	})
	fakeNodes(t, l, 1000)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var calls atomic.Int64
	for _, c := range []*rest.RESTClient{l.batch, l.core} {
		c.Client.Transport = &counted{&calls, c.Client.Transport}
	}
	start := time.Now()
	names := make([]string, n)
	var wg sync.WaitGroup
	turn := make(chan struct{}, 32)
	for i := range names {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			action := fmt.Sprintf("%016x%024x", rand.Uint64(), i)
			names[i] = cluster.JobName(action)
			j := cluster.Job{Name: names[i], Action: action, Args: []string{"true"}, Near: strconv.Itoa(i % 75), Needs: cluster.Needs{CPUs: 1, GPUs: 1}}
			if err := l.Start(t.Context(), j); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	started := time.Since(start)
	done := 0
	for end := start.Add(kwokTime); ; time.Sleep(time.Second) {
		done = 0
		l.mu.Lock()
		for _, s := range l.last {
			if s.State == cluster.Succeeded {
				done++
			}
		}
		l.mu.Unlock()
		if done == n || time.Now().After(end) {
			break
		}
	}
	took := time.Since(start)
	if done == 0 {
		t.Fatalf("none is done; kwok: %.2000s", log.Bytes())
	}
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	requests := calls.Load()
	fmt.Printf("BenchmarkKwok\t%d\t%.4g s-started\t%d done\t%.4g s-done\t%.4g MiB-heap\t%.4g MiB-system\t%.4g requests/job\n",
		n, started.Seconds(), done, took.Seconds(), float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), float64(after.Sys)/(1<<20), float64(requests)/float64(n))
	if err := l.Remove(t.Context(), names...); err != nil {
		t.Fatal(err)
	}
	requests = calls.Load()
	t.Logf("removed after %v; %d requests in all, %.3f for each job", time.Since(start).Round(time.Second), requests, float64(requests)/float64(n))
}

// counted counts requests.
type counted struct {
	n    *atomic.Int64
	next http.RoundTripper
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.next.RoundTrip(r)
}

// kwokTime is how long jobs may take; what is not done then is counted.
const kwokTime = 30 * time.Minute

func fakeNodes(t *testing.T, l *lab, n int) {
	t.Helper()
	var list []any
	for i := range n {
		name := fmt.Sprintf("kwok-%d", i)
		list = append(list, map[string]any{
			"apiVersion": "v1", "kind": "Node",
			"metadata": map[string]any{"name": name, "labels": map[string]string{"type": "kwok", "kubernetes.io/hostname": name}},
			"spec":     map[string]any{"taints": []any{map[string]string{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}}},
		})
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": list})
	if err != nil {
		t.Fatal(err)
	}
	create := exec.Command(l.dir+"/bin/kubectl", "--kubeconfig", l.dir+"/run/admin.kubeconfig", "create", "-f", "-")
	create.Stdin = bytes.NewReader(text)
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v %.500s", err, out)
	}
	for range 120 {
		nodes, err := l.Nodes(t.Context())
		ready := 0
		for _, n := range nodes {
			if n.Ready && n.Has.GPUs == 8 {
				ready++
			}
		}
		if err == nil && ready == n {
			return
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the nodes do not become ready")
}
