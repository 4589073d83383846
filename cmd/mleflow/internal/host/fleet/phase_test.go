package fleet

import (
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// TestPhases is the table of transitions: a status of the job before, of the same name, says
// nothing of this one until it can no longer come.
func TestPhases(t *testing.T) {
	old := cluster.Status{ID: "old", State: cluster.Failed}
	for _, c := range []struct {
		from    phase
		started time.Duration // ago
		status  cluster.Status
		want    phase
	}{
		{starting, 0, cluster.Status{}, starting},
		{starting, 0, old, replacing},
		{starting, 0, cluster.Status{ID: "new", State: cluster.Failed}, failed},
		{starting, 0, cluster.Status{ID: "old", State: cluster.Pending}, waiting},
		{starting, time.Hour, old, failed},
		{starting, time.Hour, cluster.Status{}, waiting},
		{replacing, 0, old, replacing},
		{replacing, 0, cluster.Status{ID: "new", State: cluster.Pending}, waiting},
		{waiting, 0, cluster.Status{State: cluster.Running, Starts: 1}, running},
		{running, 0, cluster.Status{State: cluster.Pending, Starts: 1}, restarting},
		{restarting, 0, cluster.Status{State: cluster.Running, Starts: 2}, running},
		{running, 0, cluster.Status{State: cluster.Succeeded}, succeeded},
		{running, 0, old, failed},
		{restarting, 0, cluster.Status{State: cluster.Gone}, failed},
	} {
		w := &watched{phase: c.from, before: "old", started: time.Now().Add(-c.started)}
		if got := w.next(c.status); got != c.want {
			t.Errorf("%s, %+v: %s, want %s", c.from, c.status, got, c.want)
		}
	}
}
