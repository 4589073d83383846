package kubernetes

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/mleflow/mleflow/plugins/cluster"
)

func full(t *testing.T, change func(*Config)) settings {
	t.Helper()
	c := Config{
		Image: "registry.example/mleflow@sha256:00", ImagePullSecrets: []string{"pull"}, Secrets: []string{"s3"}, Env: map[string]string{"A": "b"},
		Queue: "lab", PriorityClass: "low", RuntimeClass: "nvidia", NodeSelector: map[string]string{"pool": "gpu"}, Exclude: []string{"bad-1", "bad-2"},
		Tolerations: []Toleration{{Key: "gpu", Operator: "Exists", Effect: "NoSchedule"}}, Labels: map[string]string{"team": "x"}, Annotations: map[string]string{"n": "m"},
		Cache: &Cache{Path: "/var/lib/mleflow", Quota: "500GiB"},
	}
	if change != nil {
		change(&c)
	}
	s, err := settle(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var aJob = cluster.Job{
	Name: cluster.JobName(strings.Repeat("ab", 32)), Action: strings.Repeat("ab", 32), Address: `step.agent-run.solve["leaf/0"]`,
	Args: []string{"worker", strings.Repeat("ab", 32)}, Env: map[string]string{"MLEFLOW_REMOTE_CACHE": "s3://bucket/x"},
	Needs:    cluster.Needs{CPUs: 1.5, MemoryBytes: 1 << 30, DiskBytes: 1 << 31, GPUs: 2},
	Deadline: 90 * time.Second, Grace: time.Minute, Near: "leaf", Retries: 3,
}

// TestPreemptible sees that only preemptible jobs run on nodes that a provider may take.
func TestPreemptible(t *testing.T) {
	for _, preemptible := range []bool{false, true} {
		j := aJob
		j.Preemptible = preemptible
		spec := theirs(t, full(t, nil).manifest(j, nil)).Spec.Template
		has := slices.ContainsFunc(spec.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == "cloud.google.com/gke-spot" && t.Operator == "Exists" })
		if has != preemptible || (spec.Labels["mleflow/preemptible"] == "true") != preemptible || *spec.Spec.TerminationGracePeriodSeconds != 60 {
			t.Errorf("preemptible %v: %+v", preemptible, spec)
		}
	}
}

// TestManifestIsABatchJob decodes what is sent strictly into Kubernetes' own
// types, and back: no field is misspelt, misplaced or of another type.
func TestManifestIsABatchJob(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
	}{
		{Nested, nil},
		{Privileged, func(c *Config) { c.PodSecurity = Privileged; c.Cache = &Cache{Claim: "cache"} }},
		{Restricted, func(c *Config) { c.PodSecurity = Restricted; c.Cache = &Cache{Quota: "5 GiB"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			manifest := full(t, c.change).manifest(aJob, []string{"n1", "n2", "n3", "n4"})
			sent, err := json.Marshal(manifest)
			if err != nil {
				t.Fatal(err)
			}
			back, err := json.Marshal(theirs(t, manifest))
			if err != nil {
				t.Fatal(err)
			}
			var want, got map[string]any
			for text, to := range map[string]*map[string]any{string(sent): &want, string(back): &got} {
				if err := json.Unmarshal([]byte(text), to); err != nil {
					t.Fatal(err)
				}
			}
			delete(got, "status")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// theirs decodes a manifest strictly into the types of k8s.io/api.
func theirs(t *testing.T, manifest object) (j batchv1.Job) {
	t.Helper()
	sent, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(sent))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&j); err != nil {
		t.Fatalf("%v in %s", err, sent)
	}
	return j
}

func TestManifest(t *testing.T) {
	j := theirs(t, full(t, nil).manifest(aJob, []string{"n1", "n2", "n3", "n4"}))
	pod := j.Spec.Template.Spec
	if j.Labels[queueLabel] != "lab" || j.Spec.Template.Labels[queueLabel] != "" || j.Annotations[actionNote] != aJob.Action {
		t.Errorf("labels %v, annotations %v", j.Labels, j.Annotations)
	}
	want := map[string]string{"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "2Gi", "nvidia.com/gpu": "2"}
	for name, q := range pod.Containers[0].Resources.Limits {
		if q.Cmp(resource.MustParse(want[string(name)])) != 0 || len(pod.Containers[0].Resources.Limits) != len(want) {
			t.Errorf("limit of %s: %s", name, q.String())
		}
	}
	if *pod.ActiveDeadlineSeconds != 90 || *pod.TerminationGracePeriodSeconds != 60 || *j.Spec.BackoffLimit != 3 || *pod.AutomountServiceAccountToken {
		t.Errorf("%+v", pod)
	}
	refused := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields
	if len(refused) != 2 || refused[1].Operator != "NotIn" || refused[1].Values[0] != "bad-2" {
		t.Errorf("excluded %+v", refused)
	}
	var preferred []string
	for _, term := range pod.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		preferred = append(preferred, term.Preference.MatchFields[0].Values...)
	}
	if diff := cmp.Diff(cluster.Rank("leaf", []string{"n1", "n2", "n3", "n4"})[:3], preferred); diff != "" {
		t.Error(diff)
	}
}

// TestFits chooses nodes for plans and preferences.
func TestFits(t *testing.T) {
	b := &Backend{settings: full(t, nil)}
	for name, c := range map[string]struct {
		labels string
		taint  string
		want   bool
	}{
		"good": {"gpu", "gpu", true}, "bad-1": {"gpu", "", false}, "other": {"cpu", "", false}, "taken": {"gpu", "team", false},
		"spot": {"gpu", "cloud.google.com/gke-spot", true}, "ill": {"gpu", "node.kubernetes.io/not-ready", true},
	} {
		n := &node{}
		n.Name, n.Labels = name, map[string]string{"pool": c.labels}
		if c.taint != "" {
			n.Spec.Taints = []taint{{Key: c.taint, Effect: "NoSchedule"}}
		}
		if got := b.fits(n, b.shape); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestClosed says why nodes take no jobs.
func TestClosed(t *testing.T) {
	on := func(types ...string) (all []condition) {
		for _, c := range types {
			all = append(all, condition{Type: c, Status: "True"})
		}
		return all
	}
	for _, c := range []struct {
		conditions []condition
		cordoned   bool
		want       string
	}{
		{on("Ready"), false, ""}, {on("DiskPressure", "Ready"), false, "DiskPressure"}, {on("Ready", "MemoryPressure"), false, "MemoryPressure"},
		{nil, false, "NotReady"}, {on("Ready"), true, "cordoned"},
	} {
		n := &node{Spec: nodeSpec{Unschedulable: c.cordoned}, Status: nodeStatus{Conditions: c.conditions}}
		if got := closed(n); got != c.want {
			t.Errorf("%+v: %q, want %q", n, got, c.want)
		}
	}
}

func TestConfigurationsAreChecked(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Config)
	}{
		{"image is missing", func(c *Config) { c.Image = "" }},
		{"not a name of Kubernetes", func(c *Config) { c.Namespace = "Lab" }},
		{`write "nested"`, func(c *Config) { c.PodSecurity = "none" }},
		{"both a path and a claim", func(c *Config) { c.Cache = &Cache{Path: "/x", Claim: "y"} }},
		{"not absolute", func(c *Config) { c.Cache = &Cache{Path: "x"} }},
		{"not a size", func(c *Config) { c.Cache = &Cache{Quota: "much"} }},
		{"ttl = \"1 day\" is not a duration", func(c *Config) { c.TTL = "1 day" }},
	} {
		config := Config{Image: "x"}
		c.change(&config)
		if _, err := settle(config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestStatusOfEnds: of a pod that ended, the status says whether its worker is dead for
// certain, and whether another one would end in the same way.
func TestStatusOfEnds(t *testing.T) {
	for _, c := range []struct {
		name        string
		state       containerState
		ended       cluster.State
		dead, final bool
	}{
		{"killed, started again", containerState{Terminated: &terminated{ExitCode: 137, Reason: "OOMKilled"}}, "", true, false},
		{"out of sight, started again", containerState{Running: &struct{}{}}, "", false, false},
		{"refused", containerState{Terminated: &terminated{ExitCode: cluster.ExitRefused, Reason: "Error"}}, cluster.Failed, false, true},
		{"no program", containerState{Terminated: &terminated{ExitCode: cluster.ExitNotFound, Reason: "Error"}}, cluster.Failed, false, true},
		{"failed", containerState{Terminated: &terminated{ExitCode: cluster.ExitFailed, Reason: "Error"}}, cluster.Failed, false, false},
	} {
		p := &pod{}
		p.Status.Phase, p.Status.ContainerStatuses = "Failed", []containerStatus{{Name: workerName, State: c.state}}
		j := &jobState{name: "j", view: view{uid: "1", ended: c.ended}, pods: map[string]*podState{}, ran: map[string]bool{"1": true}}
		if s, _ := j.put(p).next(); s.Dead != c.dead || s.Final != c.final {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
	policy := theirs(t, full(t, nil).manifest(aJob, nil)).Spec.PodFailurePolicy
	if exits := policy.Rules[0].OnExitCodes.Values; !slices.Equal(exits, []int32{78, 126, 127}) {
		t.Errorf("the Job is not started again after %v", exits)
	}
}
