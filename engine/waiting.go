package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// quietWait is how long a step waits for another process before the run says so.
const quietWait = time.Second

// lockAction waits until no other process runs the step's action. It says for which it
// waits.
func (r *run) lockAction(ctx context.Context, n *node) (unlock func(), err error) {
	said := make(chan struct{})
	timer := time.AfterFunc(quietWait, func() {
		defer close(said)
		r.sink.Emit(event.StepWaiting{At: event.Now(), Address: n.plan.Name, Message: "another process, which runs the same action" + r.others()})
	})
	defer func() {
		if !timer.Stop() {
			<-said
		}
	}()
	return r.e.opts.Cache.LockAction(ctx, n.decision.id)
}

// others names the other runs in progress in the cache, three at most.
func (r *run) others() string {
	if r.e.opts.History == nil {
		return ""
	}
	list, _ := r.e.opts.History.List() // without it, they are not named
	var names []string
	for _, e := range list {
		if e.State != history.Running || e.Info.ID == r.result.RunID {
			continue
		}
		if len(names) == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("run %s, process %d on %s since %s", e.Info.ID, e.Info.PID, e.Info.Host, e.Info.Started.Local().Format(time.DateTime)))
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return ": " + names[0]
	}
	return "; it is one of these: " + strings.Join(names, "; ")
}
