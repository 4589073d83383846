package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/plugins/cluster/slurm/slurmtest"
)

const slurmFile = `
remote_cache = "file://%[1]s/remote"
backend "slurm" "lab" {
  runs    = ["exec"]
  folder  = "%[1]s/nodes/jobs"
  cache_dir = "%[1]s/node-$SLURMD_NODENAME"
  retries = 100
  poll    = "200ms"
  env     = { MLEFLOW_WORKER_INTERVAL = "100ms" }
}
`

// TestSlurm applies pipelines on a real Slurm of two nodes: the demonstration
// gives the same actions, outputs and board as here, and a controller that is
// killed at random moments (MLEFLOW_CLUSTER_KILLS says how often) runs no step
// twice.
func TestSlurm(t *testing.T) {
	c := slurmtest.Start(t)
	n := 0
	dir := func() string {
		n++
		d := filepath.Join(c.Dir, fmt.Sprint("lab", n)) // not the test's: nodes and controller see it
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Run("MatchesLocal", func(t *testing.T) {
		d := dir()
		matchesLocal(newLabIn(t, d, ofAgents(fmt.Sprintf(slurmFile, d))))
	})
	t.Run("ControllerKilled", func(t *testing.T) {
		killControllers(t, times(t, "MLEFLOW_CLUSTER_KILLS", 2), func(t *testing.T) *lab {
			d := dir()
			return newLabIn(t, d, fmt.Sprintf(slurmFile, d))
		})
	})
}
