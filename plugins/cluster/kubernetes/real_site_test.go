package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// site makes a namespace with rules of its own, and a backend of it.
func site(t *testing.T, rules string, change func(*Config)) *lab {
	dir := os.Getenv("MLEFLOW_KUBERNETES")
	if dir == "" {
		t.Skip("MLEFLOW_KUBERNETES names no folder with a cluster: .ci/test-kubernetes makes one")
	}
	name := fmt.Sprintf("site-%x", time.Now().UnixNano())
	admin := func(stdin string, args ...string) (string, error) {
		cmd := exec.Command(dir+"/bin/kubectl", append([]string{"--kubeconfig", dir + "/run/admin.kubeconfig"}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Cleanup(func() { _, _ = admin("", "delete", "namespace", name, "--wait=false") })
	for _, text := range []string{"apiVersion: v1\nkind: Namespace\nmetadata: {name: NS}\n", rules} {
		if text == "" {
			continue
		}
		if out, err := admin(strings.ReplaceAll(text, "NS", name), "apply", "-f", "-"); err != nil {
			t.Fatal(out)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // made by a controller
		if _, err := admin("", "get", "serviceaccount", "default", "-n", name); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	return realCluster(t, func(c *Config) {
		c.Kubeconfig, c.Namespace, c.ServiceAccount = dir+"/run/admin.kubeconfig", name, "default"
		if change != nil {
			change(c)
		}
	})
}

const (
	restrictedNamespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS, labels: {pod-security.kubernetes.io/enforce: restricted}}\n"
	largestPod          = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: most, namespace: NS}\nspec: {limits: [{type: Container, max: {cpu: 500m}}]}\n"
)

func quota(hard string) string {
	return "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: NS}\nspec: {hard: {" + hard + "}}\n"
}

// never is a status of a job that can never start.
func never(s cluster.Status) bool { return s.Final || s.State.Ended() }

// TestRealSiteForbids: what can never start is reported within a minute, by what forbids it.
func TestRealSiteForbids(t *testing.T) {
	for _, c := range []struct {
		name, rules string
		change      func(*Config)
		job         func(*cluster.Job)
		reason      string
		message     string
	}{
		{"a nested sandbox", restrictedNamespace, func(c *Config) { c.PodSecurity = Nested }, nil, "FailedCreate", "violates PodSecurity"},
		{"a folder of the node", restrictedNamespace, func(c *Config) { c.Cache = &Cache{Path: "/var/lib/mleflow-ci"} }, nil, "FailedCreate", "hostPath"},
		{"more than a LimitRange", largestPod, nil, func(j *cluster.Job) { j.Needs.CPUs = 0.6 }, "FailedCreate", "maximum cpu usage per Container is 500m"},
		{"more GPUs than the quota", quota(`requests.nvidia.com/gpu: "1"`), nil, func(j *cluster.Job) { j.Needs.GPUs = 2 }, "FailedCreate", "exceeded quota: q"},
		{"no limit under a quota of limits", quota(`limits.cpu: "2"`), nil, func(j *cluster.Job) { j.Needs.CPUs = 0 }, "FailedCreate", "must specify limits.cpu"},
		{"no service account", "", func(c *Config) { c.ServiceAccount = "none" }, nil, "FailedCreate", `serviceaccount "none" not found`},
		{"no priority class", "", func(c *Config) { c.PriorityClass = "none" }, nil, "FailedCreate", "no PriorityClass with name none"},
		{"no runtime class", "", func(c *Config) { c.RuntimeClass = "none" }, nil, "FailedCreate", `RuntimeClass "none" not found`},
		{"too many GPUs", "", nil, func(j *cluster.Job) { j.Needs.GPUs = 3 }, "Unschedulable", "none of the 2 nodes"},
		{"no such GPU", "", func(c *Config) { c.GPUResource = "amd.com/gpu" }, func(j *cluster.Job) { j.Needs.GPUs = 1 }, "Unschedulable", "amd.com/gpu=1"},
		{"no such node", "", func(c *Config) { c.NodeSelector = map[string]string{"pool": "none"} }, nil, "Unschedulable", "allow none of the 2 nodes"},
		{"no claim", "", func(c *Config) { c.Cache = &Cache{Claim: "none"} }, nil, "Unschedulable", `persistentvolumeclaim "none" not found`},
		{"no such image name", "", func(c *Config) { c.Image = "Not A Name" }, nil, "InvalidImageName", "Not A Name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := site(t, c.rules, c.change)
			name, began := l.start("true", c.job), time.Now()
			s := l.await(name, time.Minute, never)
			if s.Reason != c.reason || !strings.Contains(s.Message, c.message) || s.Starts != 0 {
				t.Errorf("%+v, want %s: %s", s, c.reason, c.message)
			}
			t.Logf("after %v: %s: %s", time.Since(began).Round(time.Second), s.Reason, s.Message)
		})
	}
}

// TestRealSiteAllows: a job runs in a restricted namespace, and with what a site requires of pods.
func TestRealSiteAllows(t *testing.T) {
	for _, c := range []struct {
		name, rules, script, pod string
	}{
		{"restricted", restrictedNamespace, "[ $(id -u) = 1000 ] && touch /tmp/x /var/cache/mleflow/x", ""},
		{"read-only root and a user of the site's", restrictedNamespace, "[ $(id -u) = 7000 ] && touch /tmp/x /var/cache/mleflow/x && ! touch /x && df /tmp | grep -q tmpfs", `
securityContext: {runAsUser: 7000, runAsGroup: 7000, fsGroup: 7000}
volumes: [{name: tmp, emptyDir: {medium: Memory, sizeLimit: 16Mi}}]
containers: [{name: worker, securityContext: {readOnlyRootFilesystem: true}}]`},
		{"limits left out and limits required", quota("requests.cpu: \"1\", limits.memory: 1Gi"), "true", `
containers: [{name: worker, resources: {limits: {cpu: null, memory: 96Mi}, requests: {memory: 32Mi}}}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := site(t, c.rules, func(config *Config) { config.Pod = c.pod })
			name := l.start(c.script, func(j *cluster.Job) { j.Near = "x" })
			if s := l.await(name, time.Minute, never); s.State != cluster.Succeeded {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestRealSiteIsBusy: what others use is waited for, and reported once.
func TestRealSiteIsBusy(t *testing.T) {
	for name, c := range map[string]struct {
		rules, reason string
		needs         cluster.Needs
	}{
		"quota": {quota(`pods: "1"`), "FailedCreate", cluster.Needs{CPUs: 0.05}},
		"GPUs":  {"", "Unschedulable", cluster.Needs{CPUs: 0.05, GPUs: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := site(t, c.rules, onNode2)
			needs := func(j *cluster.Job) { j.Needs = c.needs }
			first := l.start("sleep 60", needs)
			l.await(first, time.Minute, is(cluster.Running, ""))
			second := l.start("true", needs)
			if s := l.await(second, 2*time.Minute, never); s.State != cluster.Succeeded {
				t.Errorf("%+v", s)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			waited := 0
			for _, s := range l.all[second] {
				if s.State == cluster.Pending && s.Reason == c.reason {
					waited++
				}
			}
			if waited != 1 {
				t.Errorf("reported %d times: %+v", waited, l.all[second])
			}
		})
	}
}

// TestRealTry: doctor's job runs, or says what forbids it, and nothing is left.
func TestRealTry(t *testing.T) {
	for _, c := range []struct {
		name, rules string
		change      func(*Config)
		ok          bool
		detail      string
	}{
		{"runs", restrictedNamespace, nil, true, "ran on node node"},
		{"no program", "", func(c *Config) { c.Command = []string{"/none"} }, false, "cannot run the worker"},
		{"refused", restrictedNamespace, func(c *Config) { c.PodSecurity = Nested }, false, "violates PodSecurity"},
		{"no image", "", func(c *Config) { c.Image, c.PullTimeout = "localhost:1/none:1", "1h" }, false, "localhost:1/none:1"},
		{"no Secret", "", func(c *Config) { c.Secrets, c.PullTimeout = []string{"none"}, "1h" }, false, `secret "none" not found`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := site(t, c.rules, func(config *Config) {
				config.Command = []string{"/bin/true"}
				if c.change != nil {
					c.change(config)
				}
			})
			got := cluster.Try(t.Context(), l.Backend, cluster.Job{Needs: cluster.Needs{CPUs: 0.05, MemoryBytes: 64 << 20}}, 30*time.Second)
			if got.OK != c.ok || got.Optional || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("%+v", got)
			}
			if out, err := l.kubectl("get", "job", "-n", l.Namespace, "-o", "name"); err != nil || strings.Contains(out, "job") {
				t.Errorf("left: %s %v", out, err)
			}
		})
	}
}

// TestRealSiteIsExamined: doctor asks about the very pod of a job, and tells what passes from what
// does not.
func TestRealSiteIsExamined(t *testing.T) {
	for _, c := range []struct {
		name, rules string
		change      func(*Config)
		needs       cluster.Needs
		ok, passes  bool
		detail      string
	}{
		{"restricted", restrictedNamespace, nil, cluster.Needs{CPUs: 0.1}, true, false, "one and its pod"},
		{"nested", restrictedNamespace, func(c *Config) { c.PodSecurity = Nested }, cluster.Needs{CPUs: 0.1}, false, false, "violates PodSecurity"},
		{"limit", largestPod, nil, cluster.Needs{CPUs: 4}, false, false, "maximum cpu usage per Container is 500m"},
		{"no job more", quota(`count/jobs.batch: "0"`), nil, cluster.Needs{CPUs: 0.1}, false, false, "limited: count/jobs.batch=0"},
		{"field", "", func(c *Config) { c.Pod = "volumes: [{name: x, emptyDir: {size: 1}}]" }, cluster.Needs{CPUs: 0.1}, false, false, `unknown field "spec.template.spec.volumes[2].emptyDir.size"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := site(t, c.rules, c.change)
			for _, k := range l.Examine(t.Context(), cluster.Job{Name: cluster.JobName("0"), Args: []string{"version"}, Needs: c.needs}) {
				if k.Name == "job" && (k.OK != c.ok || k.Optional != c.passes || !strings.Contains(k.Detail, c.detail) || !k.OK && k.Fix == "") {
					t.Errorf("%+v", k)
				}
			}
		})
	}
}

// TestRealQuotaOfJobs: a job that a quota of Jobs leaves no place for is worth another try.
func TestRealQuotaOfJobs(t *testing.T) {
	l := site(t, quota(`count/jobs.batch: "1"`), nil)
	first := l.start("sleep 5", nil)
	j := cluster.Job{Name: cluster.JobName(strings.Repeat("7", 64)), Args: []string{"true"}}
	if err := l.Start(t.Context(), j); !errors.Is(err, cluster.ErrLater) {
		t.Errorf("%v", err)
	}
	l.await(first, time.Minute, is(cluster.Succeeded, ""))
	if err := l.Remove(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	l.await(first, time.Minute, is(cluster.Gone, ""))
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		err := l.Start(t.Context(), j)
		if err == nil {
			break
		}
		if !errors.Is(err, cluster.ErrLater) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
	l.await(j.Name, time.Minute, is(cluster.Succeeded, ""))
}
