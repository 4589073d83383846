package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// sitePod is what a site may require of pods.
const sitePod = `
schedulerName: volcano
dnsConfig: {options: [{name: ndots, value: "1"}]}
securityContext: {runAsUser: null, runAsGroup: null, fsGroup: null, supplementalGroups: [5000]}
imagePullSecrets: [{name: pull}, {name: mirror}]
tolerations: [{key: team, value: vision, effect: NoSchedule}]
nodeSelector: {zone: a}
affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 1, preference: {matchExpressions: [{key: fast, operator: Exists}]}}
volumes:
- {name: cache, hostPath: null, persistentVolumeClaim: {claimName: team-cache}}
- {name: tmp, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
containers:
- name: worker
  resources: {limits: {cpu: null, example.com/ib: "1"}, requests: {memory: 128Mi, ephemeral-storage: null}}
  securityContext: {readOnlyRootFilesystem: true}
  env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: s3, key: token}}}]
  volumeMounts: [{mountPath: /var/cache/mleflow, subPath: team}]
`

// TestPodPatch: a site's requirements are merged into the pod, and nothing else changes.
func TestPodPatch(t *testing.T) {
	plain := theirs(t, full(t, nil).manifest(aJob, []string{"n1", "n2"}))
	s := full(t, func(c *Config) { c.Pod = sitePod })
	patched := theirs(t, s.manifest(aJob, []string{"n1", "n2"}))
	pod := patched.Spec.Template.Spec
	worker := pod.Containers[0]
	if _, ok := worker.Resources.Limits["cpu"]; ok || worker.Resources.Limits.Memory().Value() != 1<<30 || worker.Resources.Requests.Memory().String() != "128Mi" ||
		worker.Resources.Requests.Cpu().String() != "1500m" || len(worker.Resources.Limits) != 4 || len(worker.Resources.Requests) != 3 {
		t.Errorf("resources %+v", worker.Resources)
	}
	if len(pod.Volumes) != 2 || pod.Volumes[0].HostPath != nil || pod.Volumes[0].PersistentVolumeClaim.ClaimName != "team-cache" || pod.Volumes[1].EmptyDir.Medium != corev1.StorageMediumMemory {
		t.Errorf("volumes %+v", pod.Volumes)
	}
	if len(worker.VolumeMounts) != 2 || worker.VolumeMounts[0].SubPath != "team" || worker.VolumeMounts[0].Name != "cache" {
		t.Errorf("mounts %+v", worker.VolumeMounts)
	}
	sec := pod.SecurityContext
	if sec.RunAsUser != nil || sec.FSGroup != nil || !*sec.RunAsNonRoot || sec.SeccompProfile.Type != "Localhost" || len(sec.SupplementalGroups) != 1 {
		t.Errorf("security %+v", sec)
	}
	if len(pod.Tolerations) != len(plain.Spec.Template.Spec.Tolerations)+1 || len(pod.ImagePullSecrets) != 2 || pod.NodeSelector["pool"] != "gpu" || pod.NodeSelector["zone"] != "a" || pod.SchedulerName != "volcano" {
		t.Errorf("%+v", pod)
	}
	affinity := pod.Affinity.NodeAffinity
	if len(affinity.PreferredDuringSchedulingIgnoredDuringExecution) != 3 || affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		t.Errorf("affinity %+v", affinity)
	}
	// What makes it a worker stays.
	patched.Spec.Template.Spec = plain.Spec.Template.Spec
	if diff := cmp.Diff(plain, patched); diff != "" {
		t.Error(diff)
	}
	worker0 := plain.Spec.Template.Spec.Containers[0]
	if diff := cmp.Diff(worker0.Env, worker.Env[:len(worker0.Env)]); diff != "" || worker.Env[len(worker.Env)-1].Name != "TOKEN" || worker.Image != worker0.Image || !cmp.Equal(worker.Args, worker0.Args) {
		t.Errorf("worker %+v %s", worker, diff)
	}
	if s.shape.NodeSelector["zone"] != "a" {
		t.Errorf("plan does not know the selector: %+v", s.shape)
	}
}

// TestPodPatchIsRefused: a patch changes neither who the worker is nor what isolates it.
func TestPodPatchIsRefused(t *testing.T) {
	for _, c := range []struct{ pod, want string }{
		{"restartPolicy: Always", "sets restartPolicy"},
		{"hostNetwork: true", "sets hostNetwork"},
		{"hostPID: true", "sets hostPID"},
		{"hostUsers: true", "sets hostUsers"},
		{"automountServiceAccountToken: true", "sets automountServiceAccountToken"},
		{"serviceAccountName: admin", "sets serviceAccountName"},
		{"activeDeadlineSeconds: 1", "sets activeDeadlineSeconds"},
		{"initContainers: [{name: x}]", "sets initContainers"},
		{"securityContext: {runAsNonRoot: false}", "sets securityContext.runAsNonRoot"},
		{"securityContext: {seccompProfile: {type: Unconfined}}", "sets securityContext.seccompProfile"},
		{"securityContext: null", "securityContext: <nil>"},
		{"securityContext: []", ""},
		{"securityContext: x", "securityContext: x"},
		{"containers: null", "containers: <nil>"},
		{"containers: [null]", "containers: <nil>"},
		{"containers: [worker]", "containers: worker"},
		{"containers: [{image: other}]", `name ""`},
		{"containers: [{name: sidecar, image: x}]", `name "sidecar"`},
		{"containers: [{name: worker, image: other}]", "sets containers.image"},
		{"containers: [{name: worker, args: [x]}]", "sets containers.args"},
		{"containers: [{name: [worker]}]", `name ""`},
		{"containers: [{name: worker, securityContext: {privileged: true}}]", "sets containers.securityContext.privileged"},
		{"containers: [{name: worker, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]", "sets containers.securityContext.capabilities"},
		{"containers: [{name: worker, securityContext: {procMount: Unmasked}}]", "sets containers.securityContext.procMount"},
		{"containers: [{name: worker, securityContext: null}]", "containers.securityContext: <nil>"},
		{"containers: [{name: worker, env: [{name: MLEFLOW_REMOTE_CACHE, value: s3://theirs}]}]", "MLEFLOW_REMOTE_CACHE"},
		{"$patch: replace", "sets $patch"},
		{"- a", "not YAML"},
		{"a: [", "not YAML"},
		{"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}]}}}", "exclude would not hold"},
	} {
		_, err := settle(Config{Image: "x", Pod: c.pod, Exclude: []string{"n7"}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.pod, err, c.want)
		}
	}
}

// TestLabelsThatFindWorkers belong to mleflow: the network policy and every watch select by them.
func TestLabelsThatFindWorkers(t *testing.T) {
	for _, name := range []string{"mleflow", "mleflow/action", "app.kubernetes.io/managed-by"} {
		for _, c := range []Config{{Labels: map[string]string{name: "x"}}, {Annotations: map[string]string{name: "x"}}} {
			c.Image = "x"
			if _, err := settle(c); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}

// TestRefused tells refusals that stay from those that pass, by the texts of Kubernetes 1.34.
func TestRefused(t *testing.T) {
	const forbidden = `Error creating: pods "mleflow-1-x" is forbidden: `
	for message, want := range map[string]bool{
		forbidden + `exceeded quota: q, requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=2`:              true,
		forbidden + `exceeded quota: q, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=1, limited: requests.nvidia.com/gpu=2`:              false,
		forbidden + `exceeded quota: q, requested: memory=1536Mi,pods=1, used: memory=0,pods=3, limited: memory=1Gi,pods=3`:                                     true,
		forbidden + `exceeded quota: q, requested: cpu=500m,pods=1, used: cpu=2,pods=3, limited: cpu=2,pods=3`:                                                  false,
		forbidden + `failed quota: q: must specify limits.cpu for: worker`:                                                                                      true,
		forbidden + `maximum cpu usage per Container is 2, but limit is 4`:                                                                                      true,
		forbidden + `violates PodSecurity "restricted:latest": restricted volume types (volume "cache" uses restricted volume type "hostPath")`:                 true,
		forbidden + `error looking up service account mleflow/none: serviceaccount "none" not found`:                                                            true,
		forbidden + `no PriorityClass with name none was found`:                                                                                                 true,
		forbidden + `status unknown for quota: q, resources: pods`:                                                                                              false,
		forbidden + `not yet ready to handle request`:                                                                                                           false,
		`Error creating: Pod "mleflow-1-x" is invalid: spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`: true,
		`Error creating: admission webhook "validate.kyverno.svc-fail" denied the request: resource Pod was blocked`:                                            true,
		`Error creating: Internal error occurred: failed calling webhook "x": context deadline exceeded`:                                                        false,
		`Error creating: Timeout: request did not complete within requested timeout`:                                                                            false,
	} {
		if got := refused(message); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}

// machine is a node with what pods may reserve.
func machine(name string, allocatable map[string]string, taints ...taint) node {
	n := node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable, n.Spec.Taints = allocatable, taints
	return n
}

// asks is a pod that found no node and asks for something.
func (s *stage) asks(requests map[string]string, change func(*podSpec)) {
	p := &pod{ObjectMeta: metav1.ObjectMeta{Name: "mleflow-1-x", UID: "p", Labels: map[string]string{jobLabel: "mleflow-1"}, CreationTimestamp: metav1.NewTime(start)}}
	p.Status = podStatus{Phase: "Pending", Conditions: []condition{{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0/2 nodes are available"}}}
	p.Spec.Containers = make([]container, 1)
	p.Spec.Containers[0].Resources.Requests = requests
	if change != nil {
		change(&p.Spec)
	}
	_ = s.take(p, (*jobState).put)
}

// TestNoNodeCouldEverRunIt: a pod that no node could run is reported as one that never starts, and
// one that waits for other pods is not.
func TestNoNodeCouldEverRunIt(t *testing.T) {
	gpu := machine("n1", map[string]string{"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "2"}, taint{Key: "gpu", Effect: "NoSchedule"})
	big := machine("n2", map[string]string{"cpu": "64", "memory": "512Gi"})
	tolerant := func(p *podSpec) { p.Tolerations = []Toleration{{Key: "gpu", Operator: "Exists"}} }
	for _, c := range []struct {
		name     string
		requests map[string]string
		change   func(*podSpec)
		auto     bool
		event    string
		want     string // in the message of a pod that can never start; "" if it may
	}{
		{"fits an empty node", map[string]string{"cpu": "64"}, nil, false, "", ""},
		{"more than any", map[string]string{"cpu": "65"}, nil, false, "", "none of the 1 nodes that it may use has all that it asks for (cpu=65)"},
		{"GPUs of another pod", map[string]string{"nvidia.com/gpu": "2"}, tolerant, false, "", ""},
		{"more GPUs than any", map[string]string{"nvidia.com/gpu": "4"}, tolerant, false, "", "none of the 2 nodes"},
		{"GPU behind a taint", map[string]string{"nvidia.com/gpu": "1"}, nil, false, "", "none of the 1 nodes"},
		{"no single node has both", map[string]string{"nvidia.com/gpu": "1", "cpu": "16"}, tolerant, false, "", "(cpu=16,nvidia.com/gpu=1)"},
		{"selector", nil, func(p *podSpec) { p.NodeSelector = map[string]string{"pool": "none"} }, false, "", "allow none of the 2 nodes"},
		{"nodes are added", map[string]string{"cpu": "65"}, nil, true, "", ""},
		{"a node is being added", map[string]string{"cpu": "65"}, nil, false, "TriggeredScaleUp", ""},
		{"no node is being added", map[string]string{"cpu": "65"}, nil, false, "NotTriggerScaleUp", "autoscaling = true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.Autoscaling, s.nodes = c.auto, []node{gpu, big}
			if c.event != "" {
				s.events = []event{{Reason: c.event}}
			}
			s.asks(c.requests, c.change)
			if got := s.last(); got.State != cluster.Pending || got.Reason != "Unschedulable" || got.Final {
				t.Fatalf("told too early: %+v", got)
			}
			s.tidyAt(10 * time.Second)
			before := len(s.told)
			s.tidyAt(25 * time.Second)
			s.tidyAt(50 * time.Second)
			got := s.last()
			if got.Final != (c.want != "") || !strings.Contains(got.Message, c.want) || !strings.Contains(got.Message, "0/2 nodes are available") || got.State != cluster.Pending {
				t.Errorf("told %+v, want %q", got, c.want)
			}
			if more := len(s.told) - before; more > 1 || len(s.patches) > 0 {
				t.Errorf("told %d times, and did %v", more, s.patches)
			}
			// The verdict ends with its cause.
			s.nodes = append(s.nodes, machine("n3", map[string]string{"cpu": "128", "nvidia.com/gpu": "8", "example.com/ib": "1"}))
			s.nodes[2].Labels = map[string]string{"pool": "none"}
			s.knownAt = time.Time{}
			s.tidyAt(75 * time.Second)
			if got := s.last(); got.Final {
				t.Errorf("a node came, and still: %+v", got)
			}
		})
	}
}

// TestNoClaim: a volume that does not exist is no reason that passes.
func TestNoClaim(t *testing.T) {
	for message, want := range map[string]bool{
		`0/2 nodes are available: persistentvolumeclaim "cache" not found. not found`: true,
		`0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims`:   false,
	} {
		s := newStage(t)
		s.nodes = []node{machine("n1", nil)}
		p := &pod{ObjectMeta: metav1.ObjectMeta{Name: "mleflow-1-x", UID: "p", Labels: map[string]string{jobLabel: "mleflow-1"}, CreationTimestamp: metav1.NewTime(start)}}
		p.Status.Conditions = []condition{{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: message}}
		p.Spec.Containers = make([]container, 1)
		_ = s.take(p, (*jobState).put)
		s.tidyAt(25 * time.Second)
		if got := s.last(); got.Final != want || !strings.Contains(got.Message, message) {
			t.Errorf("%s: %+v", message, got)
		}
	}
}

// TestNodesThatComeBack: where nodes come and go, a pod that fits none is waited for.
func TestNodesThatComeBack(t *testing.T) {
	for name, change := range map[string]func(*stage, *pod){
		"preemptible": func(_ *stage, p *pod) { p.Labels[preemptibleLabel] = "true" },
		"ran before":  func(s *stage, _ *pod) { s.jobs["mleflow-1"].ran["earlier"] = true },
	} {
		s := newStage(t)
		p := &pod{ObjectMeta: metav1.ObjectMeta{Name: "mleflow-1-x", UID: "p", Labels: map[string]string{jobLabel: "mleflow-1"}, CreationTimestamp: metav1.NewTime(start)}}
		p.Status.Conditions = []condition{{Type: "PodScheduled", Status: "False", Reason: "Unschedulable"}}
		p.Spec.Containers = make([]container, 1)
		change(s, p)
		_ = s.take(p, (*jobState).put)
		s.tidyAt(25 * time.Second)
		s.tidyAt(time.Hour)
		if got := s.last(); got.State != cluster.Pending || got.Final {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestRefusalsAreToldOnce: a quota that others use is told once, whatever the name of the pod in
// its message, and a refusal that stays is Final until the pod is there.
func TestRefusalsAreToldOnce(t *testing.T) {
	const quota = `is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3`
	s := newStage(t)
	for i, pod := range []string{"a", "b", "c"} {
		s.events = []event{{Reason: "FailedCreate", Message: `Error creating: pods "mleflow-1-` + pod + `" ` + quota}}
		s.tidyAt(time.Duration(i+1) * 25 * time.Second)
		if got := s.last(); len(s.told) != 2 || got.Final || !strings.Contains(got.Message, `mleflow-1-a`) {
			t.Fatalf("told %d times, last %+v", len(s.told), got)
		}
	}
	s.events = []event{{Reason: "FailedCreate", Message: `Error creating: pods "mleflow-1-d" is forbidden: violates PodSecurity "restricted:latest"`}}
	s.tidyAt(100 * time.Second)
	if got := s.last(); !got.Final || !strings.Contains(got.Message, "violates PodSecurity") || !strings.Contains(got.Message, "doctor") {
		t.Errorf("told %+v", got)
	}
	_ = s.take(s.job, (*jobState).put) // as the job controller does, now and then
	if got := s.last(); !got.Final {
		t.Errorf("forgotten: %+v", got)
	}
	s.asks(nil, nil)
	if got := s.last(); got.Final {
		t.Errorf("there is a pod, and still: %+v", got)
	}
}

// TestImagesAreToldOnce: an image that cannot be pulled has two reasons by turns.
func TestImagesAreToldOnce(t *testing.T) {
	s := newStage(t)
	for _, reason := range []string{"ErrImagePull", "ImagePullBackOff", "ErrImagePull", "ImagePullBackOff"} {
		s.has(waits(reason), "n1")
	}
	if len(s.told) != 2 {
		t.Errorf("told %d times: %+v", len(s.told), s.told)
	}
}

// TestLater: what passes is marked so that a job is tried again, and what does not is not.
func TestLater(t *testing.T) {
	answers := map[string]bool{
		`{"code":403,"reason":"Forbidden","message":"jobs.batch \"j\" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=5, limited: count/jobs.batch=5"}`: true,
		`{"code":403,"reason":"Forbidden","message":"jobs.batch \"j\" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=0, limited: count/jobs.batch=0"}`: false,
		`{"code":403,"reason":"Forbidden","message":"jobs.batch is forbidden: User \"x\" cannot create resource \"jobs\""}`:                                                                    false,
		`{"code":422,"reason":"Invalid","message":"Job.batch \"j\" is invalid: spec"}`:                                                                                                         false,
		`{"code":500,"reason":"InternalError","message":"Internal error occurred: failed calling webhook"}`:                                                                                    true,
		`{"code":504,"reason":"Timeout","message":"Timeout: request did not complete"}`:                                                                                                        true,
	}
	for answer, later := range answers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				_ = json.NewEncoder(w).Encode(list[node]{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}})
				return
			}
			var status struct{ Code int }
			_ = json.Unmarshal([]byte(answer), &status)
			w.WriteHeader(status.Code)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure",`+answer[1:])
		}))
		b := backendAt(t, server.URL)
		if err := b.Start(t.Context(), aJob); err == nil || errors.Is(err, cluster.ErrLater) != later {
			t.Errorf("%s: %v", answer, err)
		}
		server.Close()
		if err := b.Start(t.Context(), aJob); !errors.Is(err, cluster.ErrLater) {
			t.Errorf("without a server: %v", err)
		}
	}
}

// TestAutoscaling: where nodes are added on demand, plan finds everything fit, and no node that
// is there now counts as one that jobs cannot have.
func TestAutoscaling(t *testing.T) {
	huge := cluster.Needs{CPUs: 1000, MemoryBytes: 1 << 50, GPUs: 64}
	for _, auto := range []bool{false, true} {
		s := newStage(t)
		s.nodes, s.Autoscaling = []node{machine("n1", map[string]string{"cpu": "8"})}, auto
		nodes, err := s.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fit := slices.ContainsFunc(nodes, func(n cluster.Node) bool { return n.Has.Hold(huge) })
		if fit != auto || !slices.ContainsFunc(nodes, func(n cluster.Node) bool { return n.Name == "n1" && n.Has.CPUs == 8 }) {
			t.Errorf("autoscaling %v: %+v", auto, nodes)
		}
	}
}
