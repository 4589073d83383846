package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// entry is a job as listed by squeue.
type entry struct {
	id, name, state, node, reason, required string
	// partition is that of the job; those of a job that waits have commas between them.
	partition string
	restarts  int
	// exit is the status of the batch script.
	exit int
	// cancelled are the identifiers of cancelled jobs of the same name.
	cancelled []string
}

// fields is the format of squeue that parse reads.
const fields = "JobID:|,Name:|,State:|,NodeList:|,Reason:|,RestartCnt:|,exit_code:|,ReqNodes:|,Partition:|"

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
	f := lists.Of(strings.Split(line, "|"), strings.TrimSpace)
	if len(f) < 9 {
		return e, fmt.Errorf("squeue printed %q, which is not what --Format=%s gives", line, fields)
	}
	e = entry{id: f[0], name: f[1], state: f[2], node: f[3], reason: f[4], required: f[7], partition: f[8]}
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

// The states in which the batch script may be running, and those before a start or restart.
var (
	runStates  = []string{"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
	waitStates = []string{"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)

// runs reports whether the batch script may be running.
func (e entry) runs() bool { return slices.Contains(runStates, e.state) }

// waits reports whether it will be started or restarted.
func (e entry) waits() bool { return slices.Contains(waitStates, e.state) }

// active reports whether the job has not ended.
func (e entry) active() bool { return e.runs() || e.waits() }

// commandLimit is the time limit for one of Slurm's commands. Slurm's own limit for a
// controller that does not answer is longer.
const commandLimit = 2 * time.Minute

// unreachableError means that Slurm's controller does not answer. It is temporary.
type unreachableError struct{ err error }

func (e unreachableError) Error() string { return e.err.Error() }
func (e unreachableError) Unwrap() error { return e.err }

// Is makes it an error that passes.
func (e unreachableError) Is(target error) bool { return target == cluster.ErrLater }

// full are the signs of a limit on the number of jobs: of an association or a QOS
// (MaxSubmitJobs), and of the cluster (MaxJobCount), for which sbatch itself would wait.
const fullHere, fullCluster = "SubmitJob", "sleeping and retrying"

// complaints are what a command prints as errors. It is stopped if it says that the cluster is
// full, so that this is known at once.
type complaints struct {
	text bytes.Buffer
	stop context.CancelCauseFunc
}

// Write implements io.Writer.
func (c *complaints) Write(p []byte) (int, error) {
	if c.text.Write(p); bytes.Contains(c.text.Bytes(), []byte(fullCluster)) {
		c.stop(errors.New("the queue of Slurm is full (MaxJobCount)"))
	}
	return len(p), nil
}

// call runs a command of Slurm and returns its output.
func call(ctx context.Context, stdin, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	path, err := checkout.Program(name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	errs := complaints{stop: stop}
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		return "", unreachableError{fmt.Errorf("%s: %w", name, context.Cause(ctx))}
	}
	text := strings.TrimSpace(errs.text.String())
	var status *exec.ExitError
	if text == "" || !errors.As(err, &status) {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	err = fmt.Errorf("%s: %s", name, strings.TrimPrefix(text, name+": error: "))
	for _, sign := range []string{"Unable to contact", "Socket timed out", "Connection refused", "communication connection", "Transport endpoint", "backup controller"} {
		if strings.Contains(text, sign) {
			return "", unreachableError{err}
		}
	}
	if strings.Contains(text, fullHere) {
		err = fmt.Errorf("%w: %w", cluster.ErrLater, err)
	}
	return "", err
}

// environment returns this process's environment without the variables that change
// the output or the defaults of Slurm's commands.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return changes.Regexp().MatchString(v) && !strings.HasPrefix(v, "SLURM_CONF=")
	})
	return append(env, "LC_ALL=C")
}

// changes matches those variables.
var changes = pattern.New(`^((SBATCH|SQUEUE|SINFO|SCANCEL|SLURM|LC)_|LANG=)`)
