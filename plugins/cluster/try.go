package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
)

// tidyTime is the time in which a cancelled job ends.
const tidyTime = 30 * time.Second

// Try runs a real job that asks for what j does, and prints the version of mleflow, and
// removes it. A job that still waits when the limit has passed is an optional finding: the
// cluster may be busy.
func Try(ctx context.Context, b Backend, j Job, limit time.Duration) Check {
	start := time.Now()
	action := fmt.Sprintf("%x", rand.Text()+rand.Text())
	j.Name, j.Action, j.Address, j.Args, j.Grace, j.Retries = JobName(action), action, "mleflow doctor", []string{"version"}, tidyTime, 0
	c := Check{Name: "real job"}
	last, err := try(ctx, b, j, limit)
	took, why := time.Since(start).Round(time.Second), last.Reason+": "+last.Message
	switch {
	case err != nil:
		c.Detail, c.Fix = err.Error(), "it says what was refused; change the block, or ask those who run the cluster"
	case last.State == Succeeded:
		c.OK, c.Detail = true, fmt.Sprintf("mleflow version ran on node %s, and its job was removed, after %s", last.Node, took)
	case last.State == Failed || last.Final || last.Node != "" && last.State == Pending && last.Message != "":
		c.Detail, c.Fix = why, "steps would fail in the same way: change what it names in the block, or ask those who run the cluster"
	case last.State == Gone:
		c.Detail, c.Fix = "it was removed from outside", "ask those who run the cluster what removes jobs"
	default:
		c.Optional, c.Detail, c.Fix = true, fmt.Sprintf("after %s it is %s. %s", took, last.State, strings.TrimSuffix(why, ": ")), "if the cluster is busy, steps wait, too"
	}
	return c
}

// try starts a job, follows it until it has ended, can never start or the limit has passed, and
// leaves nothing of it. It returns the last status before it was cancelled.
func try(ctx context.Context, b Backend, j Job, limit time.Duration) (last Status, err error) {
	if err := b.Start(ctx, j); err != nil {
		return last, err
	}
	watch, stop := context.WithTimeout(ctx, limit+tidyTime)
	defer stop()
	late, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	after := context.WithoutCancel(ctx)
	cancelled := make(chan struct{})
	unless := context.AfterFunc(late, func() {
		defer close(cancelled)
		_ = b.Cancel(after, j.Name)
	})
	err = b.Watch(watch, func(s Status) {
		if s.Job != j.Name {
			return
		}
		if late.Err() == nil {
			last = s
		}
		if s.Final {
			cancel()
		}
		if s.State.Ended() {
			stop()
		}
	}, nil)
	if !unless() { // it was late
		<-cancelled
	}
	return last, errors.Join(err, b.Cancel(after, j.Name), b.Remove(after, j.Name))
}
