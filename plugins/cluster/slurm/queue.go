package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// entry is a job as listed by squeue.
type entry struct {
	id, name, state, node, reason, required string
	restarts                                int
	// exit is the status of the batch script.
	exit int
	// cancelled are the identifiers of cancelled jobs of the same name.
	cancelled []string
}

// fields is the format of squeue that parse reads.
const fields = "JobID:|,Name:|,State:|,NodeList:|,Reason:|,RestartCnt:|,exit_code:|,ReqNodes:|"

// lastQueue is what the last squeue said, which began at a time.
type lastQueue struct {
	mu    sync.Mutex
	began time.Time
	known map[string]entry
	err   error
}

// queue returns the jobs as they are now. Calls at the same time share one squeue.
func (b *Backend) queue(ctx context.Context) (map[string]entry, error) {
	asked, l := time.Now(), &b.last
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.After(asked) {
		return l.known, l.err
	}
	began := time.Now()
	known, err := queue(ctx)
	if ctx.Err() == nil {
		l.began, l.known, l.err = began, known, err
	}
	return known, err
}

// queue lists the jobs of this user and project that Slurm knows, by name. Of several
// with one name it takes the running one, else the waiting one, else the newest.
func queue(ctx context.Context) (map[string]entry, error) {
	out, err := call(ctx, "", "squeue", "--noheader", "--me", "--states=all", "--Format="+fields)
	if err != nil {
		return nil, err
	}
	known := map[string]entry{}
	for line := range strings.Lines(out) {
		e, err := parse(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(e.name, cluster.Label+"-") {
			continue
		}
		other, ok := known[e.name]
		if !ok {
			known[e.name] = e
			continue
		}
		if other.before(e) {
			e, other = other, e
		}
		if e.cancelled = append(e.cancelled, other.cancelled...); other.state == "CANCELLED" {
			e.cancelled = append(e.cancelled, other.id)
		}
		known[e.name] = e
	}
	return known, nil
}

func parse(line string) (e entry, err error) {
	f := strings.Split(line, "|")
	if len(f) < 8 {
		return e, fmt.Errorf("squeue printed %q, which is not what --Format=%s gives", line, fields)
	}
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	e = entry{id: f[0], name: f[1], state: f[2], node: f[3], reason: f[4], required: f[7]}
	e.restarts, _ = strconv.Atoi(f[5])
	status, _ := strconv.Atoi(f[6]) // as wait(2) gives it
	if e.exit = status >> 8 & 0xff; status&0x7f != 0 {
		e.exit = 128 + status&0x7f
	}
	return e, nil
}

// before reports whether e takes precedence over another entry of its name.
func (e entry) before(other entry) bool {
	if e.rank() != other.rank() {
		return e.rank() > other.rank()
	}
	a, _ := strconv.Atoi(e.id)
	b, _ := strconv.Atoi(other.id)
	return a > b
}

func (e entry) rank() int {
	switch {
	case e.runs():
		return 2
	case e.waits():
		return 1
	}
	return 0
}

// runs reports whether the batch script may be running.
func (e entry) runs() bool {
	switch e.state {
	case "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING":
		return true
	}
	return false
}

// waits reports whether it will be started or restarted.
func (e entry) waits() bool {
	switch e.state {
	case "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD":
		return true
	}
	return false
}

// active reports whether the job has not ended.
func (e entry) active() bool { return e.runs() || e.waits() }
