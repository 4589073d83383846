package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cache/remote/s3test"
)

// kubernetesVariable names the folder of a cluster that .ci/kubernetes/cluster made,
// with the programs of programsVariable in its image.
const kubernetesVariable = "MLEFLOW_KUBERNETES"

const podFile = `
remote_cache = %q
backend "kubernetes" "lab" {
  kubeconfig = "%s/run/controller.kubeconfig"
  image      = "localhost/mleflow:1"
  secrets    = ["mleflow-remote-cache"]
  env        = { CANARY_WORKER = %q, MLEFLOW_WORKER_INTERVAL = "1s" }
  cache { path = "/var/lib/mleflow-ci" }
}
`

// TestThiefInPod lets the thief hunt inside the pod of a worker, on a real
// Kubernetes. There are canaries in the worker's environment, in a Secret, in the
// node's cache, in another worker's agent and on servers that pods reach.
func TestThiefInPod(t *testing.T) {
	lab := os.Getenv(kubernetesVariable)
	if lab == "" || os.Getenv(programsVariable) == "" {
		t.Skipf("%s names no folder with a cluster: .ci/test-kubernetes makes one", kubernetesVariable)
	}
	s := s3test.StartAt(t, "10.99.0.254")
	h := newSandboxHost(t)
	h.user = nil // who controls is of no interest here
	p := newPlot(t, h)
	kubectl := func(args ...string) (string, error) {
		out, err := exec.Command(lab+"/bin/kubectl", append([]string{"--kubeconfig", lab + "/run/admin.kubeconfig", "-n", "mleflow"}, args...)...).CombinedOutput()
		return string(out), err
	}
	secret := []string{"create", "secret", "generic", "mleflow-remote-cache", "--from-literal=CANARY_OF_SECRET=" + p.plant("cluster-secret"), "--from-literal=VICTIM_SOURCE=" + p.planted["secret"]}
	for name, value := range s3test.Environ() {
		secret = append(secret, "--from-literal="+name+"="+value)
	}
	_, _ = kubectl("delete", "secret", "mleflow-remote-cache", "--ignore-not-found")
	if out, err := kubectl(secret...); err != nil {
		t.Fatal(out)
	}
	p.placeOnNodes(t, lab)
	cluster := filepath.Join(p.dir, "cluster.hcl")
	must(t, os.WriteFile(cluster, fmt.Appendf(nil, podFile, s3test.Address(s.Addr, "team"), lab, p.plant("worker")), 0o600))
	p.env = append(p.env, "MLEFLOW_ON="+cluster)
	p.right = p.answers(t)
	found := p.steal(t)
	canaries, open := 0, 0
	for _, f := range found {
		canaries += len(f.Canaries)
		if f.Open {
			open++
		}
		if expected := weaker[f.Probe] != ""; len(f.Canaries) > 0 || f.Open != expected {
			t.Errorf("%s (%s): %s %v", f.Probe, f.Tried, f.Got, f.Canaries)
		}
	}
	if len(found) < 40 {
		t.Errorf("%d probes, want at least 40", len(found))
	}
	t.Logf("%d probes in a pod: %d canaries, %d got more than they should", len(found), canaries, open)
}

// placeOnNodes puts the thief's image where controller and workers see it under one
// name, and a canary beside it.
func (p *plot) placeOnNodes(t *testing.T, lab string) {
	const folder = "/var/cache/mleflow" // of workers
	image, name := os.DirFS(p.image), "thief-"+rand.Text()
	caches, err := filepath.Glob(filepath.Join(lab, "run", "*", "cache"))
	must(t, err)
	p.image = filepath.Join(folder, name)
	secret := p.plant("node") + "\n"
	for _, dir := range append(caches, folder) {
		path := filepath.Join(dir, name)
		t.Cleanup(func() { _ = errors.Join(os.RemoveAll(path), os.Remove(path+".txt")) })
		must(t, os.CopyFS(path, image))
		must(t, os.WriteFile(path+".txt", []byte(secret), 0o644))
	}
	p.more = append(p.more, filepath.Join(folder, name+".txt"), folder)
}
