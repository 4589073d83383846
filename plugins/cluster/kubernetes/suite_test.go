package kubernetes

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/cluster/clustertest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == clustertest.Command {
		os.Exit(clustertest.Worker(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// TestRealSuite runs the suite of all backends. Its worker is this program, which
// pods find in the cache of their node.
func TestRealSuite(t *testing.T) {
	l := realCluster(t, nil)
	program := place(t, l.dir)
	open := func(t *testing.T, change func(*Config)) cluster.Backend {
		c := l.Config
		c.Command, c.Cache = []string{cacheDir + "/" + program}, &Cache{Path: "/var/lib/mleflow-ci"}
		if change != nil {
			change(&c)
		}
		b, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	clustertest.Run(t, clustertest.Bed{
		Open:     func(t *testing.T) cluster.Backend { return open(t, nil) },
		Patience: 4 * time.Minute,
		LoseNode: func(_ *testing.T, node string) func() {
			number := strings.TrimPrefix(node, "node")
			l.script("kill", number)
			return func() { l.script("node", number) }
		},
		Restart: func(*testing.T) {
			l.kill("1", "apiserver")
			l.script("restart", "apiserver", "1")
		},
		Broken: func(t *testing.T) cluster.Backend {
			return open(t, func(c *Config) { c.Image = "localhost:1/none/such:9" })
		},
	})
}

// place copies this program to the caches of the nodes.
func place(t *testing.T, lab string) (name string) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	name = fmt.Sprintf("suite-%x", rand.Uint64())
	caches, err := filepath.Glob(filepath.Join(lab, "run", "*", "cache"))
	if err != nil || len(caches) < 2 {
		t.Fatalf("caches %q, %v", caches, err)
	}
	for _, dir := range caches {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, self, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(path) })
	}
	return name
}
