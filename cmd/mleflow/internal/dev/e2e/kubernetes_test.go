package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/remote/s3test"
)

// kubernetesVariable names the folder of a cluster that .ci/kubernetes/cluster
// made. Its image has the program that binaryVariable names.
const kubernetesVariable = "MLEFLOW_KUBERNETES"

const kubernetesFile = `
remote_cache = %q
backend "kubernetes" "lab" {
  runs       = [%s]
  kubeconfig = "%s/run/controller.kubeconfig"
  image      = "localhost/mleflow:1"
  secrets    = ["mleflow-remote-cache"]
  env        = { MLEFLOW_WORKER_INTERVAL = "1s" }
  cache {
    path  = "/var/lib/mleflow-ci"
    quota = "5GiB"
  }
  lost_after = "5s"
}
`

// newKubernetes is a lab on a real cluster, whose workers reach a server of this
// machine.
func newKubernetes(t *testing.T, runs string) *lab {
	t.Helper()
	folder := os.Getenv(kubernetesVariable)
	if folder == "" || os.Getenv(binaryVariable) == "" {
		t.Skipf("%s names no folder with a cluster: .ci/test-kubernetes makes one", kubernetesVariable)
	}
	s := s3test.StartAt(t, "10.99.0.254")
	secret := []string{"create", "secret", "generic", "mleflow-remote-cache"}
	for name, value := range s3test.Environ() {
		secret = append(secret, "--from-literal="+name+"="+value)
	}
	_, _ = kubectl("delete", "secret", "mleflow-remote-cache", "--ignore-not-found")
	if out, err := kubectl(secret...); err != nil {
		t.Fatal(out)
	}
	dir := t.TempDir()
	return newLabIn(t, dir, fmt.Sprintf(kubernetesFile, s3test.Address(s.Addr, "team"), runs, folder))
}

// TestKubernetes applies pipelines on a real Kubernetes of two nodes: the
// demonstration and the light set, in sandboxes inside pods, give the same actions,
// outputs and boards as here.
func TestKubernetes(t *testing.T) {
	t.Run("MatchesLocal", func(t *testing.T) {
		l := newKubernetes(t, `"agent-run"`)
		l.env = append(l.env, "MLEFLOW_AUTO_RUNTIME=sandbox")
		matchesLocal(l)
	})
	// Its data are miniatures.
	t.Run("Lite", func(t *testing.T) {
		l := newKubernetes(t, `"agent-run"`)
		l.env = append(l.env, "MLEFLOW_AUTO_RUNTIME=sandbox")
		matches(l, "lite.hcl", "-var", "raw="+goldenRaw(t, competitionsOf(t, "lite")...), "-var", goldenParams(t), "-var", "seeds=1", "-var", "timeout=1h",
			"-var", "on_mismatch=warn", "-var", "task=own", "-var", "cpus=0.2", "-var", "memory=256MiB")
		l.report()
	})
	t.Run("ControllerKilled", func(t *testing.T) {
		killControllers(t, times(t, "MLEFLOW_CLUSTER_KILLS", 4), newNoting)
	})
	t.Run("DuplicatePods", duplicatePods)
	t.Run("Preempted", func(t *testing.T) {
		l := newKubernetes(t, `"agent-run"`)
		l.env = append(l.env, "MLEFLOW_AUTO_RUNTIME=sandbox")
		file := filepath.Join(l.dir, "cluster.hcl")
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, bytes.Replace(text, []byte(`  lost_after`), []byte("  preemptible = true\n  lost_after"), 1), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		goesOn(l, drainNode)
	})
	t.Run("Breach", breached)
}

// drainNode lets nothing run any longer on the node of the pod that runs.
func drainNode(t *testing.T) {
	node := ""
	for limit := time.Now().Add(2 * time.Minute); node == "" && time.Now().Before(limit); time.Sleep(200 * time.Millisecond) {
		node, _ = kubectl("get", "pods", "-l", "mleflow=worker", "--field-selector=status.phase=Running", "-o", "jsonpath={.items[*].spec.nodeName}")
	}
	time.Sleep(5 * time.Second) // it has a checkpoint
	t.Cleanup(func() { _, _ = kubectl("taint", "nodes", node, "taken-") })
	if text, err := kubectl("taint", "nodes", node, "taken=:NoExecute"); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

// newNoting is a lab whose steps note in the caches of the nodes that they run.
func newNoting(t *testing.T) *lab {
	l := newKubernetes(t, `"exec"`)
	name := filepath.Base(filepath.Dir(l.dir)) + filepath.Base(l.dir)
	l.log, l.logs = filepath.Join("/var/cache/mleflow", name), nil
	for node := range 2 {
		cache := filepath.Join(os.Getenv(kubernetesVariable), "run", fmt.Sprint(node+1), "cache")
		owner, err := os.Stat(cache)
		if err != nil {
			t.Fatal(err)
		}
		// A cache is not made in a folder that is not empty.
		if out, err := exec.Command(binary, "cache", "info", "--cache-dir", cache).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
		log := filepath.Join(cache, name)
		t.Cleanup(func() { os.RemoveAll(log) })
		if err := errors.Join(os.Mkdir(log, 0o777), os.Chmod(log, 0o777)); err != nil {
			t.Fatal(err)
		}
		user := owner.Sys().(*syscall.Stat_t)
		err = filepath.WalkDir(cache, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, int(user.Uid), int(user.Gid)))
		})
		if err != nil {
			t.Fatal(err)
		}
		l.logs = append(l.logs, log)
	}
	t.Cleanup(func() {
		if text, err := kubectl("get", "jobs", "-o", "name"); err != nil || text != "" {
			t.Errorf("left behind: %s", text)
		}
	})
	return l
}

// breached opens the network to an agent: its sandbox then has the pod's, which
// reaches the API server, so the agent is not started.
func breached(t *testing.T) {
	l := newKubernetes(t, `"agent-run"`)
	demo, err := os.ReadFile(pipelines + "demo.hcl")
	if err != nil {
		t.Fatal(err)
	}
	const step = `step "agent-run" "solve" {`
	if !strings.Contains(string(demo), step) {
		t.Fatal("the demonstration has other names")
	}
	text := strings.Replace(string(demo), step, step+"\n  network { open = true }", 1)
	if err := os.WriteFile(l.file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l.env = append(l.env, "MLEFLOW_AUTO_RUNTIME=sandbox")
	_, stderr, code := l.run("apply", l.file, "--on", filepath.Join(l.dir, "cluster.hcl"), "-var", "seeds=1")
	if code == 0 || !strings.Contains(stderr, "10.99.0.1:16443") || !strings.Contains(stderr, "the agent was not started") {
		t.Errorf("status %d\n%s", code, tail(stderr))
	}
}

// duplicatePods starts a second pod for an action whose pod runs: it waits for the
// first one and ends well, and the step ran once.
func duplicatePods(t *testing.T) {
	l := newKubernetes(t, `"exec"`)
	const pipeline = `
step "exec" "work" { command = ["sh", "-c", "sleep 10; cat /proc/sys/kernel/random/uuid"] }
output "all" { value = step.exec.work.stdout }
`
	if err := os.WriteFile(l.file, []byte(pipeline), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := l.command("apply", l.file, "--on", filepath.Join(l.dir, "cluster.hcl"), "--json")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const first = "mleflow=worker,batch.kubernetes.io/job-name"
	waitFor := func(what, want string, args ...string) string {
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
			text, _ := kubectl(args...)
			if strings.Contains(text, want) {
				return text
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %s", what, text)
			}
		}
	}
	waitFor("a pod that runs", "Running", "get", "pods", "-l", first)
	text, err := kubectl("get", "pods", "-l", first, "-o", "json")
	var list struct {
		Items []struct{ Spec map[string]any }
	}
	if err = errors.Join(err, json.Unmarshal([]byte(text), &list)); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	spec := list.Items[0].Spec
	delete(spec, "nodeName")
	manifest, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "duplicate", "namespace": "mleflow"}, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(l.dir, "pod.json")
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = kubectl("delete", "pod", "duplicate", "--ignore-not-found", "--now") })
	if text, err := kubectl("create", "-f", file); err != nil {
		t.Fatal(text)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), `"status":"ran"`) {
		t.Fatalf("%v\n%s", err, tail(out.String()))
	}
	waitFor("the duplicate succeeds", "Succeeded", "get", "pod", "duplicate", "-o", "jsonpath={.status.phase}")
	log, _ := kubectl("logs", "duplicate")
	if !strings.Contains(log, "another worker has the action") || strings.Contains(log, ": running") {
		t.Errorf("the duplicate said:\n%s", log)
	}
	t.Log(log)
}

// kubectl runs it in the workers' namespace.
func kubectl(args ...string) (string, error) {
	folder := os.Getenv(kubernetesVariable)
	out, err := exec.Command(folder+"/bin/kubectl", append([]string{"--kubeconfig", folder + "/run/admin.kubeconfig", "-n", "mleflow"}, args...)...).CombinedOutput()
	return string(out), err
}

// report makes the report of the last run, which names the nodes.
func (l *lab) report() {
	l.t.Helper()
	file := filepath.Join(l.dir, "report.html")
	if _, stderr, code := l.run("report", "latest", "-o", file); code != 0 {
		l.t.Fatalf("report: %s", stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, want := range []string{"node1", "node2", "leaf-classification"} {
		if !strings.Contains(string(text), want) {
			l.t.Errorf("the report does not name %s", want)
		}
	}
}
