package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// ExamineTime compares what a job takes beyond the timeout of its step with the time
// limit of the nodes. It returns nil if there is no limit, or none is known.
func ExamineTime(ctx context.Context, b *Backend) *cluster.Check {
	nodes, err := b.Nodes(ctx)
	longest := time.Duration(0)
	for _, n := range nodes {
		if n.MaxTime == 0 {
			return nil
		}
		longest = max(longest, n.MaxTime)
	}
	if err != nil || longest == 0 {
		return nil // Examine says why
	}
	c := &cluster.Check{Name: "time limit", OK: longest > b.overhead(), Fix: "lower spare in the cluster file, or name a partition with a longer limit"}
	c.Detail = fmt.Sprintf("a job may run for %s; less spare (%s) and grace (%s), ", short(longest), short(b.Spare), short(b.Grace))
	if c.OK {
		c.Detail += "the timeout of a step may be up to " + short(longest-b.overhead())
	} else {
		c.Detail += "nothing is left for a step"
	}
	return c
}

// checkpointTime is what an attempt gets for its last checkpoint, and what the worker needs
// besides.
const checkpointTime = 30 * time.Second

// ExamineGrace returns a check if attempts on nodes that may be taken away have too little
// time for a checkpoint, else nil.
func ExamineGrace(b *Backend) *cluster.Check {
	if !b.Preemptible || b.Grace >= checkpointTime {
		return nil
	}
	return &cluster.Check{Name: "grace", Optional: true, Detail: fmt.Sprintf("%s may be too short for the checkpoint of an attempt that loses its node", short(b.Grace)), Fix: fmt.Sprintf("write grace = %q or more in the cluster file", short(checkpointTime))}
}

// ExamineCache tries what controller and workers do with the remote cache: create a
// document once, read it, list it and remove it.
func ExamineCache(ctx context.Context, tier *remote.Tier) cluster.Check {
	const folder = "work/.try"
	c := cluster.Check{Name: "remote cache", OK: true, Detail: tier.Location().String()}
	fail := func(what string, err error) cluster.Check {
		c.OK, c.Detail = false, fmt.Sprintf("%s: %s: %v", c.Detail, what, err)
		c.Fix = "see docs/remote.md for addresses, credentials and permissions; workers need the same"
		return c
	}
	desk, name, text := tier.Desk(), folder+"/"+rand.Text(), []byte(rand.Text())
	start := time.Now()
	if err := desk.Create(ctx, name, text); err != nil {
		return fail("it cannot be written", err)
	}
	again := desk.Create(ctx, name, []byte(rand.Text()))
	got, err := desk.Get(ctx, name)
	names, listErr := desk.List(ctx, folder)
	removed := desk.Remove(ctx, name)
	switch {
	case err != nil || string(got) != string(text):
		return fail("what was written cannot be read", errors.Join(err, cache.ErrCorrupt))
	case listErr != nil || len(names) == 0:
		return fail("what was written is not listed", listErr)
	case removed != nil:
		return fail("what was written cannot be removed", removed)
	case !errors.Is(again, remote.ErrExists):
		return fail("it does not refuse to create what exists, so two workers could run one action", again)
	}
	c.Detail += fmt.Sprintf("; a document was written, read, listed and removed in %v", time.Since(start).Round(time.Millisecond))
	return c
}
