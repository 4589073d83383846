package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// stage is a watcher of one job. Its API server knows events and takes patches.
type stage struct {
	*watcher
	t       *testing.T
	job     *job
	nodes   []node
	events  []event
	patches []string
	told    []cluster.Status
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			s.patches = append(s.patches, string(body))
			fmt.Fprint(w, `{"kind":"Job","apiVersion":"batch/v1"}`)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/nodes") {
			_ = json.NewEncoder(w).Encode(list[node]{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, Items: s.nodes})
			return
		}
		_ = json.NewEncoder(w).Encode(list[event]{TypeMeta: metav1.TypeMeta{Kind: "EventList", APIVersion: "v1"}, Items: s.events})
	}))
	t.Cleanup(server.Close)
	b := backendAt(t, server.URL)
	s.watcher = b.watcher(func(st cluster.Status) { s.told = append(s.told, st) }, nil)
	s.job = &job{ObjectMeta: metav1.ObjectMeta{Name: "mleflow-1", UID: "j", CreationTimestamp: metav1.NewTime(start)}}
	s.replace("jobs", []any{s.job})
	s.replace("pods", nil)
	return s
}

// start is when the job and its pod were created.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// has gives the job a pod.
func (s *stage) has(status podStatus, node string) {
	p := &pod{ObjectMeta: metav1.ObjectMeta{Name: "mleflow-1-x", UID: "p", Labels: map[string]string{jobLabel: "mleflow-1"}, CreationTimestamp: metav1.NewTime(start)}, Status: status}
	p.Spec.NodeName, p.Spec.Containers = node, make([]container, 1)
	_ = s.take(p, (*jobState).put)
}

// last is what was told last.
func (s *stage) last() cluster.Status { return s.told[len(s.told)-1] }

// tidyAt does what is due after a time.
func (s *stage) tidyAt(after time.Duration) {
	s.t.Helper()
	for _, act := range s.due(start.Add(after)) {
		if err := act(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// ran is the status of a pod whose container ended.
func ran(t terminated) podStatus {
	return podStatus{Phase: "Failed", ContainerStatuses: []containerStatus{{Name: workerName, Image: "mine", State: containerState{Terminated: &t}}}}
}

// waits is the status of a pod whose container waits.
func waits(reason string) podStatus {
	return podStatus{Phase: "Pending", ContainerStatuses: []containerStatus{{Name: workerName, Image: "mine", State: containerState{Waiting: &waiting{reason, "why"}}}}}
}

// disrupted is the status of a pod that something ended.
func disrupted(reason, of string) podStatus {
	s := ran(terminated{ExitCode: 137, Reason: "Error"})
	s.Reason, s.Conditions = of, []condition{{Type: "DisruptionTarget", Status: "True", Reason: reason, Message: "why"}}
	return s
}

// TestPodsThatWaitOrFail: each reason is told at once. A job ends at once, with the
// reason, if no other pod would do better, and after pull_timeout if a person must act.
func TestPodsThatWaitOrFail(t *testing.T) {
	const never = 1000 * time.Hour
	runc := "failed to create containerd task: OCI runtime create failed: runc create failed: unable to start container process: "
	for _, c := range []struct {
		name    string
		status  podStatus
		reason  string
		message string
		final   bool          // once the Job has failed
		ends    time.Duration // after which the job is ended
	}{
		{"no program", ran(terminated{ExitCode: 128, Reason: "StartError", Message: runc + `exec: "mleflow": executable file not found in $PATH`}), "StartError", "write command = ", true, 0},
		{"not executable", ran(terminated{ExitCode: 128, Reason: "StartError", Message: runc + `exec: "/x": permission denied`}), "StartError", "image mine cannot run", true, 0},
		{"broken driver", ran(terminated{ExitCode: 128, Reason: "StartError", Message: runc + "error running hook #0: nvidia-container-cli: initialization error"}), "StartError", "initialization error", false, never},
		{"no program in a shell", ran(terminated{ExitCode: 127, Reason: "Error", Message: "sh: mleflow: not found"}), "Error", "write command = ", true, never}, // by the Job's own policy
		{"no such image name", waits("InvalidImageName"), "InvalidImageName", "image mine: why", false, 0},
		{"image is never pulled", waits("ErrImageNeverPull"), "ErrImageNeverPull", "image mine: why", false, 0},
		{"image cannot be pulled", waits("ImagePullBackOff"), "ImagePullBackOff", "image mine: why", false, 10 * time.Minute},
		{"no Secret", waits("CreateContainerConfigError"), "CreateContainerConfigError", "image mine: why", false, 10 * time.Minute},
		{"no node", podStatus{Phase: "Pending", Conditions: []condition{{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0/3 nodes"}}}, "Unschedulable", "0/3 nodes", false, never},
		{"deadline", podStatus{Phase: "Failed", Reason: "DeadlineExceeded", Message: "Pod was active"}, "DeadlineExceeded", "write more spare", false, 0},
		{"preempted", disrupted("PreemptionByScheduler", ""), "Preempted", "why", false, never},
		{"drained", disrupted("EvictionByEvictionAPI", ""), "Evicted", "why", false, never},
		{"disk of the node full", disrupted("TerminationByKubelet", "Evicted"), "Evicted", "why", false, never},
		{"node gone", disrupted("DeletionByTaintManager", ""), "NodeLost", "why", false, never},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			node := "n1"
			if c.reason == "Unschedulable" {
				node = ""
			}
			s.has(c.status, node)
			if got := s.last(); got.State != cluster.Pending || got.Reason != c.reason || !strings.Contains(got.Message, c.message) || got.Final {
				t.Errorf("told %+v", got)
			}
			s.tidyAt(0)
			s.tidyAt(9 * time.Minute)
			if ended := len(s.patches) > 0; ended != (c.ends == 0) {
				t.Errorf("ended at once: %v", s.patches)
			}
			s.tidyAt(20 * time.Minute)
			if ended := len(s.patches) > 0; ended != (c.ends < never) || ended && (!strings.Contains(s.patches[0], c.reason) || !strings.Contains(s.patches[0], `"activeDeadlineSeconds":1`)) {
				t.Errorf("ended: %v", s.patches)
			}
			s.job.Status.Conditions = []condition{{Type: "Failed", Status: "True", Reason: "BackoffLimitExceeded"}}
			_ = s.take(s.job, (*jobState).put)
			if got := s.last(); got.State != cluster.Failed || got.Reason != c.reason || got.Final != c.final {
				t.Errorf("in the end %+v", got)
			}
		})
	}
}

// TestJobHasNoPod: a quota keeps the Job from creating its pod. Only events say so.
func TestJobHasNoPod(t *testing.T) {
	s := newStage(t)
	s.events = []event{{Reason: "FailedCreate", Message: "exceeded quota: gpus"}}
	s.tidyAt(5 * time.Second)
	if got := s.last(); got.Reason != "" {
		t.Errorf("too early: %+v", got)
	}
	s.tidyAt(25 * time.Second)
	if got := s.last(); got.State != cluster.Pending || got.Reason != "FailedCreate" || got.Message != "exceeded quota: gpus" || len(s.patches) > 0 {
		t.Errorf("told %+v, %v", got, s.patches)
	}
	s.has(podStatus{Phase: "Running", ContainerStatuses: []containerStatus{{Name: workerName, State: containerState{Running: &struct{}{}}}}}, "n1")
	if got := s.last(); got.State != cluster.Running || got.Reason != "" {
		t.Errorf("told %+v", got)
	}
}

// TestWatch lists and watches the objects with our label, and reports the job that there is.
func TestWatch(t *testing.T) {
	listed := func(o metav1.ObjectMeta) metav1.ObjectMeta {
		o.Labels = map[string]string{cluster.Label: workerName, jobLabel: "mleflow-1"}
		return o
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch kind := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
		case r.URL.Query().Get("labelSelector") != cluster.Label:
			t.Errorf("%s is asked without a selector", r.URL)
		case r.URL.Query().Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case r.URL.Query().Get("watch") != "":
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case kind == "jobs":
			_ = json.NewEncoder(w).Encode(list[job]{TypeMeta: metav1.TypeMeta{Kind: "JobList", APIVersion: "batch/v1"}, Items: []job{{ObjectMeta: listed(metav1.ObjectMeta{Name: "mleflow-1", UID: "j"})}}})
		case kind == "pods":
			p := pod{ObjectMeta: listed(metav1.ObjectMeta{Name: "mleflow-1-x", UID: "p"})}
			p.Spec.NodeName, p.Status.ContainerStatuses = "n", []containerStatus{{Name: workerName, State: containerState{Running: &struct{}{}}}}
			_ = json.NewEncoder(w).Encode(list[pod]{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []pod{p}})
		}
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []cluster.Status
	b := backendAt(t, server.URL)
	if err := b.Watch(ctx, func(s cluster.Status) { got = append(got, s) }, cancel); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Job != "mleflow-1" || got[0].State != cluster.Running || got[0].Node != "n" {
		t.Errorf("%+v", got)
	}
}

// backendAt is a backend of an API server.
func backendAt(t *testing.T, server string) *Backend {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("clusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{Image: "mine", Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
