package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// longestPoll is the longest time between two calls of squeue.
const longestPoll = 15 * time.Second

// watcher is the state of Watch between two looks.
type watcher struct {
	*Backend
	last map[string]cluster.Status
	// limited is the time since which a job has waited for one node, stopped the time
	// of the last signal to a cancelled job.
	limited, stopped map[string]time.Time
	// hastened has the restart of a job, by its identifier, that was made to come soon.
	hastened map[string]int
	// has names the nodes on which jobs with an equal Near have started. free are the
	// nodes as of this look; nil until they are needed.
	has  map[string][]string
	free []cluster.Node
}

// Watch implements cluster.Backend.
func (b *Backend) Watch(ctx context.Context, fn func(cluster.Status), all func()) error {
	w := &watcher{Backend: b, limited: map[string]time.Time{}, stopped: map[string]time.Time{}, hastened: map[string]int{}, has: map[string][]string{}}
	return b.look.Follow(ctx, b.poll, max(b.poll, longestPoll), func(last map[string]cluster.Status) (map[string]cluster.Status, error) {
		w.last = last
		now, err := w.once(ctx)
		if _, away := errors.AsType[unreachableError](err); away {
			return nil, nil
		}
		return now, err
	}, fn, all)
}

// once returns the statuses of all jobs.
func (w *watcher) once(ctx context.Context) (map[string]cluster.Status, error) {
	// The files come first: a job whose file appears in between is reported next time.
	noted, err := w.names()
	if err != nil {
		return nil, err
	}
	known, err := w.queue(ctx)
	if err != nil {
		return nil, err
	}
	now := map[string]cluster.Status{}
	w.free = nil
	for name, e := range known {
		if last := w.last[name]; e.runs() && (last.State != cluster.Running || last.Node != e.node) {
			if job := w.noted(name); job != nil && !slices.Contains(w.has[job.Near], e.node) {
				w.has[job.Near] = append(w.has[job.Near], e.node)
			}
		}
	}
	for name, e := range known {
		if e.active() || noted[name] {
			now[name] = w.status(ctx, e)
		}
	}
	for name := range noted {
		if _, ok := known[name]; !ok {
			now[name] = w.ended(name)
		}
	}
	return now, nil
}

// files are the suffixes of files that tell of a job.
var files = []string{"json", "exit", "stop", "log"}

// names returns the jobs that have files: those that nobody has removed, and one whose
// controller was killed before it wrote the .json.
func (w *watcher) names() (map[string]bool, error) {
	entries, err := os.ReadDir(w.Folder)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, e := range entries {
		name, what, _ := strings.Cut(e.Name(), ".")
		if strings.HasPrefix(name, cluster.Label+"-") && slices.Contains(files, what) {
			names[name] = true
		}
	}
	return names, nil
}

// status returns the status of an entry of the queue. It ends a job with too many
// starts, and lets one that has waited too long for its node run on any.
func (w *watcher) status(ctx context.Context, e entry) cluster.Status {
	s := cluster.Status{Job: e.name, ID: e.id, Node: e.node, Starts: e.restarts}
	last, seen := w.last[e.name]
	switch {
	case e.state == "COMPLETING" && seen && last.ID == e.id:
		s.Starts = max(1, last.Starts) // a requeued job has its next start counted already
	case e.node != "" && !e.waits():
		s.Starts++
	}
	if e.active() && last.State == cluster.Running && slices.Contains(e.cancelled, last.ID) {
		// Someone cancelled the job that had taken over this one.
		_, _ = call(ctx, "", "scancel", e.id) // tried again next time
		return last
	}
	if e.runs() {
		s.State = cluster.Running
		w.stop(ctx, e)
		return s
	}
	if e.waits() {
		s.State, s.Reason = cluster.Pending, e.reason
		if seen && !last.State.Ended() {
			s.Starts = max(s.Starts, last.Starts) // also in a job that went on with it
		}
		if s.Starts > 0 {
			s.Message, s.Dead = w.restarted(e)
		}
		job := w.noted(e.name)
		if job != nil && e.restarts > job.Retries {
			s.State, s.Reason, s.Message = cluster.Failed, "TooManyRestarts", fmt.Sprintf("it was started %d times: %s", e.restarts, w.printed(e.name))
			_, _ = call(ctx, "", "scancel", e.id) // tried again next time
			return s
		}
		if s.Final = w.never(ctx, e); s.Final {
			asks := ""
			if job != nil {
				asks = strings.Join(w.limits(*job), " ")
			}
			s.Message = fmt.Sprintf("Slurm never starts it as it is (%s); change resources or timeout of the step, or "+
				"partition, account, qos, constraint, reservation or spare in the cluster file", asks)
		}
		w.release(ctx, e)
		w.unhold(ctx, e)
		w.hasten(ctx, e)
		return s
	}
	if w.revive(ctx, e) {
		s.State, s.Reason, s.Message = cluster.Pending, e.state, scriptKilled+w.printed(e.name)
		return s
	}
	return w.finish(s, e)
}

// The reasons of pending jobs which no end of another job changes, as Slurm 22.05 to 25.11 has
// them: the first concern the job, the others the partition that Slurm looked at, which may be
// one of several. Limits of a user, an account or a group pass when other jobs end, usage
// when it is forgotten; what a person holds or has stopped waits for that person. Any other
// reason is waited for.
var (
	neverStarts = pattern.New(`^(?:BadConstraints|Invalid(?:Account|QOS)|Reservation(?:Deleted|Invalid)|` +
		`DependencyNeverSatisfied|DeadLine|JobHoldMaxRequeue|AssocMax\w+Per(?:Job|Node)(?:Limit)?)$`)
	neverThere = pattern.New(`^(?:Partition(?:TimeLimit|NodeLimit|Config)|(?:Account|QOS)NotAllowed|` +
		`QOSMax\w+Per(?:Job|Node)(?:Limit)?|QOSMin\w+|MaxMemPerLimit)$`)
)

// never reports whether a waiting job can never start. Slurm says PartitionNodeLimit of
// nodes that are down or drained, too.
func (w *watcher) never(ctx context.Context, e entry) bool {
	if neverStarts.Regexp().MatchString(e.reason) {
		return true
	}
	if strings.Contains(e.partition, ",") || !neverThere.Regexp().MatchString(e.reason) {
		return false
	}
	return e.reason != "PartitionNodeLimit" || slices.ContainsFunc(w.nodesNow(ctx), func(n cluster.Node) bool { return n.Ready })
}

// nodesNow returns the nodes as of this look; none if they cannot be listed.
func (w *watcher) nodesNow(ctx context.Context) []cluster.Node {
	if w.free == nil {
		w.free, _ = w.Nodes(ctx) // asked again next time
	}
	return w.free
}

const scriptKilled = "to be started again: its batch script was killed: "

// revive requeues a job whose batch script was killed, such as for lack of memory. Slurm
// does that only for lost nodes and preemptions.
func (w *watcher) revive(ctx context.Context, e entry) bool {
	job := w.noted(e.name)
	_, wrote := w.exit(e.name)
	_, err := os.Stat(w.path(e.name, "stop"))
	killed := e.state == "FAILED" && e.exit > 128 || e.state == "OUT_OF_MEMORY"
	if job == nil || wrote || err == nil || !killed || e.restarts >= job.Retries {
		return false
	}
	// Of several controllers one asks.
	path := w.path(e.name, fmt.Sprintf("revived-%d", e.restarts))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		info, err := os.Stat(path)
		return err == nil && time.Since(info.ModTime()) < reviveIn
	}
	_ = f.Close()
	_, err = call(ctx, "", "scontrol", "requeue", e.id)
	return err == nil
}

// reviveIn is the time in which a requeued job is seen to wait.
const reviveIn = 30 * time.Second

// restarted says why a job is to be started again, and whether its last worker was seen
// to end.
func (w *watcher) restarted(e entry) (why string, dead bool) {
	exit, dead := w.exit(e.name)
	if dead {
		return strings.TrimSuffix(fmt.Sprintf("to be started again: the worker ended with status %d: %s", exit, w.printed(e.name)), ": "), true
	}
	if _, err := os.Stat(w.path(e.name, fmt.Sprintf("revived-%d", e.restarts-1))); err == nil {
		return scriptKilled + w.printed(e.name), false
	}
	return "to be started again: Slurm took it off its node, which was lost, or needed for another job", false
}

// stopAgain is the interval between two signals to a cancelled job that still runs.
const stopAgain = 10 * time.Second

// stop signals a cancelled job, unless it did so less than stopAgain ago.
func (w *watcher) stop(ctx context.Context, e entry) {
	if _, err := os.Stat(w.path(e.name, "stop")); err == nil && time.Since(w.stopped[e.name]) >= stopAgain {
		w.stopped[e.name] = time.Now()
		_ = terminate(ctx, e.id) // tried again next time
	}
}

// release lets a job that waits for one node run on any, once it has waited long
// enough or another node that has its inputs is idle.
func (w *watcher) release(ctx context.Context, e entry) {
	if e.required == "" || w.sticky == 0 {
		delete(w.limited, e.name)
		return
	}
	since, ok := w.limited[e.name]
	if !ok {
		since = time.Now()
		w.limited[e.name] = since
	}
	if time.Since(since) >= w.sticky || w.idle(ctx, e) {
		_, _ = call(ctx, "", "scontrol", "update", "JobId="+e.id, "ReqNodeList=") // tried again next time
	}
}

// idle reports whether a job that waits for one node could start at once on another
// that has its inputs, and reserves it for this look.
func (w *watcher) idle(ctx context.Context, e entry) bool {
	job := w.noted(e.name)
	if job == nil || !slices.ContainsFunc(w.has[job.Near], func(node string) bool { return node != e.required }) {
		return false
	}
	free := w.nodesNow(ctx)
	for i := range free {
		n := &free[i]
		if n.Ready && n.Name != e.required && slices.Contains(w.has[job.Near], n.Name) && n.Free.CPUs >= max(1, job.Needs.CPUs) && n.Free.GPUs >= job.Needs.GPUs &&
			(n.Has.MemoryBytes == 0 || n.Free.MemoryBytes >= job.Needs.MemoryBytes) {
			n.Free.CPUs -= max(1, job.Needs.CPUs)
			n.Free.GPUs -= job.Needs.GPUs
			n.Free.MemoryBytes -= job.Needs.MemoryBytes
			return true
		}
	}
	return false
}

// unhold lets a job wait that Slurm holds because its node failed while it started
// the batch script. No other process would. A job that the user holds stays held.
func (w *watcher) unhold(ctx context.Context, e entry) {
	if reason := strings.ReplaceAll(strings.ToLower(e.reason), "_", " "); strings.HasPrefix(reason, "launch failed") && strings.Contains(reason, "held") {
		_, _ = call(ctx, "", "scontrol", "release", e.id) // tried again next time
	}
}

// firstPause is the pause before the first restart of a job. slurmd refuses credentials
// of the second in which it revoked those of the last start. Each further pause is longer
// by restartPause.
const firstPause, restartPause = 2 * time.Second, 10 * time.Second

// hasten lets a requeued job start before the two minutes have passed in which Slurm
// lets it wait.
func (w *watcher) hasten(ctx context.Context, e entry) {
	if e.reason != "BeginTime" || e.restarts == 0 || w.hastened[e.id] == e.restarts {
		return
	}
	pause := firstPause + time.Duration(e.restarts-1)*restartPause
	if _, err := call(ctx, "", "scontrol", "update", "JobId="+e.id, fmt.Sprintf("StartTime=now+%d", int(pause.Seconds()))); err == nil {
		w.hastened[e.id] = e.restarts
	}
}

// finish returns the status of an ended job.
func (w *watcher) finish(s cluster.Status, e entry) cluster.Status {
	exit := e.exit
	if own, ok := w.exit(e.name); ok && e.state != "COMPLETED" && e.state != "FAILED" {
		// The worker ended by itself, whatever Slurm did to the script afterwards.
		if own == cluster.ExitDone || slices.Contains(cluster.FinalExits, own) {
			exit = own
			e.state = "FAILED"
		}
	}
	switch {
	case e.state == "COMPLETED" || e.state == "FAILED" && exit == cluster.ExitDone:
		s.State = cluster.Succeeded
	default:
		s.State, s.Reason = cluster.Failed, e.state
		s.Message, s.Final = w.why(e, exit)
	}
	return s
}

// why explains the failure of a job, and reports whether another one is pointless.
func (w *watcher) why(e entry, exit int) (message string, final bool) {
	message = w.printed(e.name)
	switch _, err := os.Stat(w.path(e.name, "stop")); {
	case e.state == "CANCELLED" && err != nil:
		return "it was cancelled from outside, such as by scancel; the next apply starts it again", true
	case e.state == "TIMEOUT":
		late := cluster.Late
		if job := w.noted(e.name); job != nil && job.Deadline == 0 {
			late = "it reached the time limit of the site, which the cluster file leaves to it"
		}
		return strings.TrimSuffix(late+": "+message, ": "), false
	case e.state != "FAILED":
		return message, false
	case exit == cluster.ExitNotRun || exit == cluster.ExitNotFound:
		return fmt.Sprintf("node %s cannot run %s (status %d: %s); name a program that all nodes have: binary = \"…\" in the cluster file", e.node, w.Binary, exit, message), true
	}
	return strings.TrimSuffix(fmt.Sprintf("the worker ended with status %d: %s", exit, message), ": "), exit == cluster.ExitRefused
}

// ended returns the status of a job that Slurm has forgotten.
func (w *watcher) ended(name string) cluster.Status {
	last := w.last[name]
	s := cluster.Status{Job: name, ID: last.ID, Node: last.Node, Starts: max(1, last.Starts)}
	if exit, ok := w.exit(name); ok {
		return w.finish(s, entry{name: name, state: "FAILED", exit: exit})
	}
	s.State, s.Reason, s.Message = cluster.Failed, "Forgotten", "Slurm does not know the job any more, and its worker left no exit status"
	return s
}

// exit returns the exit status that the last worker of a job left.
func (w *watcher) exit(name string) (int, bool) {
	text, err := os.ReadFile(w.path(name, "exit"))
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}

// printed returns the last line of a worker's output.
func (w *watcher) printed(name string) string {
	f, err := os.Open(w.path(name, "log"))
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 2000
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, 2)
	}
	text := make([]byte, most)
	n, _ := f.Read(text)
	return cluster.LastLine(string(text[:n]))
}
