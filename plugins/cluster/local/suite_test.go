package local_test

import (
	"os"
	"testing"

	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/cluster/clustertest"
	"github.com/mleflow/mleflow/plugins/cluster/local"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == clustertest.Command {
		os.Exit(clustertest.Worker(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestSuite(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir() // whoever watches a folder starts its workers
	open := func(t *testing.T, dir, binary string) cluster.Backend {
		t.Helper()
		b, err := local.New(local.Config{Folder: dir, Nodes: []string{"node1", "node2"}, CPUs: 2, Binary: binary})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	clustertest.Run(t, clustertest.Bed{
		Open:   func(t *testing.T) cluster.Backend { return open(t, dir, "") },
		Broken: func(t *testing.T) cluster.Backend { return open(t, other, "/nonexistent/mleflow") },
	})
}
