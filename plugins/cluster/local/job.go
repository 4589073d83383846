package local

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// job is a job as stored in its folder.
type job struct {
	dir string

	Spec    cluster.Job `json:"spec"`
	Created time.Time   `json:"created"`
	// Node is the node on which it runs or ran, Starts the number of started workers.
	Node   string `json:"node,omitempty"`
	Starts int    `json:"starts"`
	// Began is the start of the last worker.
	Began time.Time `json:"began,omitzero"`
	// Cancelled is the time of the cancellation, after which no worker is started. Told
	// reports whether the last worker has received its signal.
	Cancelled time.Time `json:"cancelled,omitzero"`
	Told      bool      `json:"told,omitempty"`

	// alive reports whether a worker runs; exit is the status of the last one that
	// ended, -1 if it left none.
	alive bool
	exit  int
}

func (j *job) cpus() float64 { return max(j.Spec.Needs.CPUs, 0.1) }

// look reads the state of the last worker.
func (j *job) look() {
	j.exit = -1
	if j.Starts == 0 {
		return
	}
	f, err := os.Open(j.file("alive"))
	if err != nil {
		return
	}
	defer f.Close()
	free, err := flock.TryShared(f)
	if j.alive = !free || err != nil; j.alive {
		return
	}
	if text, err := os.ReadFile(j.file(fmt.Sprintf("exit-%d", j.Starts))); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			j.exit = n
		}
	}
}

func (j *job) file(name string) string { return filepath.Join(j.dir, name) }

// ended reports whether no worker runs or will run.
func (j *job) ended() bool {
	switch {
	case j.alive:
		return false
	case !j.Cancelled.IsZero():
		return true
	case j.Starts == 0:
		return false
	}
	return j.exit == cluster.ExitDone || j.final() || j.Starts > j.Spec.Retries
}

// final reports whether another worker would end in the same way.
func (j *job) final() bool { return slices.Contains(cluster.FinalExits, j.exit) }

func (j *job) status() cluster.Status {
	s := cluster.Status{Job: j.Spec.Name, ID: j.Created.Format(time.RFC3339Nano), State: cluster.Pending, Node: j.Node, Starts: j.Starts}
	switch {
	case j.alive:
		s.State = cluster.Running
	case !j.ended():
		if s.Reason = "Queued"; j.Starts > 0 {
			s.Reason, s.Message, s.Dead = "Restarting", j.why(), true
		}
	case j.exit == cluster.ExitDone && j.Starts > 0:
		s.State = cluster.Succeeded
	default:
		s.State, s.Final = cluster.Failed, j.final()
		if s.Reason, s.Message = "WorkerFailed", j.why(); !j.Cancelled.IsZero() {
			s.Reason = "Cancelled"
		}
	}
	return s
}

// why describes how the last worker ended, with the last line of its output.
func (j *job) why() string {
	if j.Starts == 0 {
		return ""
	}
	text := "the worker was killed"
	if j.exit >= 0 {
		text = fmt.Sprintf("the worker ended with status %d", j.exit)
	}
	printed, _ := os.ReadFile(j.file(fmt.Sprintf("log-%d", j.Starts)))
	if last := cluster.LastLine(string(printed)); last != "" {
		text += ": " + last
	}
	return text
}

func (j *job) save() error {
	if j.Created.IsZero() {
		j.Created = time.Now()
	}
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return nolink.WriteFile(j.file("job.json"), data, 0o600, false)
}

// keeper runs a worker, writes its exit status, and holds the lock on descriptor 3
// meanwhile. The worker does not inherit the lock, because processes that it leaves
// running must not look like a worker. The trap is set after the fork: a child with
// the trap would miss a signal that arrives before it becomes the worker.
//
//go:embed keeper.sh
var keeper string

// run starts a worker in a session of its own, which survives this process.
func (j *job) run(argv, env []string) error {
	alive, err := os.OpenFile(j.file("alive"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer alive.Close()
	if err := flock.Lock(alive); err != nil { // look holds it for a moment
		return err
	}
	out, err := os.OpenFile(j.file(fmt.Sprintf("log-%d", j.Starts)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	status := j.file(fmt.Sprintf("exit-%d", j.Starts))
	cmd := exec.Command("/bin/sh", append([]string{"-c", keeper, "mleflow-keeper", status, j.file(fmt.Sprintf("pid-%d", j.Starts))}, argv...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = env, out, out, j.dir
	cmd.ExtraFiles = []*os.File{alive}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	j.alive = true
	go func() { _ = cmd.Wait() }() // so that it does not stay a zombie
	return nil
}

// signal signals the session of the worker.
func (j *job) signal(sig syscall.Signal) error {
	text, err := os.ReadFile(j.file(fmt.Sprintf("pid-%d", j.Starts)))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if j.look(); !j.alive {
		return nil // the number may belong to another process by now
	}
	if sig == syscall.SIGKILL {
		if group, err := syscall.Getpgid(pid); err == nil {
			return syscall.Kill(-group, sig)
		}
	}
	return syscall.Kill(pid, sig)
}

// cancel ends the worker and prevents further starts.
func (j *job) cancel(now time.Time) error {
	if j.Cancelled.IsZero() {
		j.Cancelled = now
		if err := j.save(); err != nil {
			return err
		}
	}
	return j.curb(now)
}

// curb ends a worker that was cancelled or has run for too long. A worker without a
// process yet gets its signal at the next look.
func (j *job) curb(now time.Time) (err error) {
	cancelled := !j.Cancelled.IsZero()
	switch {
	case !j.alive:
	case cancelled && now.Sub(j.Cancelled) >= max(j.Spec.Grace, time.Second), j.Spec.Deadline > 0 && now.Sub(j.Began) >= j.Spec.Deadline:
		err = j.signal(syscall.SIGKILL)
	case cancelled && !j.Told:
		if err = j.signal(syscall.SIGTERM); err == nil {
			j.Told = true
			err = j.save()
		}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
