package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	secret := []string{"create", "secret", "generic", "mleflow-remote-cache", "-n", "mleflow"}
	for name, value := range s3test.Environ() {
		secret = append(secret, "--from-literal="+name+"="+value)
	}
	kubectl := func(args ...string) (string, error) {
		out, err := exec.Command(folder+"/bin/kubectl", append([]string{"--kubeconfig", folder + "/run/admin.kubeconfig"}, args...)...).CombinedOutput()
		return string(out), err
	}
	_, _ = kubectl("delete", "secret", "-n", "mleflow", "mleflow-remote-cache", "--ignore-not-found")
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
