package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// jobState is what is known of a job.
type jobState struct {
	name string
	// view is that of the Job; it is zero while there is none.
	view
	pods map[string]*podState
	// ran are the UIDs of the pods that were started.
	ran map[string]bool
	// told is the status that was reported last, asked when the Job's events were read.
	told  cluster.Status
	asked time.Time
	// never says why the pod that waits for a node, or the Job without a pod, can never start.
	never string
}

// podState is a pod, since when it is stuck, and when its events were read.
type podState struct {
	sight
	since, asked time.Time
}

// put takes in a Job or a pod.
func (j *jobState) put(o any) *jobState {
	switch o := o.(type) {
	case *job:
		if string(o.UID) != j.uid {
			j.never = ""
		}
		j.view = viewOf(o)
	case *pod:
		if j.pods[o.Name] == nil {
			j.pods[o.Name], j.never = &podState{}, ""
		}
		s := sightOf(o)
		if j.pods[o.Name].sight = s; s.started {
			j.ran[s.uid] = true
		}
	}
	return j
}

// drop takes out a Job or a pod.
func (j *jobState) drop(o any) *jobState {
	switch o := o.(type) {
	case *job:
		j.view = view{}
	case *pod:
		delete(j.pods, o.Name)
	}
	return j
}

// next returns the job's status, and whether it is another than the one reported last.
func (j *jobState) next() (st cluster.Status, changed bool) {
	last := j.newest()
	st = cluster.Status{Job: j.name, ID: j.uid, Node: j.told.Node, Starts: len(j.ran)}
	if last != nil {
		st.Node = last.node
	}
	st.State, st.Reason, st.Message = j.state(last)
	switch st.State {
	case cluster.Gone:
		st = cluster.Status{Job: j.name, State: cluster.Gone}
		return st, j.told.Job != ""
	case cluster.Failed:
		st.Final = last != nil && last.final
	case cluster.Pending:
		st.Dead = last != nil && last.dead
		if j.never != "" && (last == nil || last.unplaced()) {
			st.Final, st.Message = true, j.never
		}
		if again := st; st.Reason != "" {
			// Each look of a scheduler or a quota words the same reason differently: it is reported once.
			if again.Message = j.told.Message; again == j.told {
				return again, false
			}
		}
	}
	return st, st.State != "" && st != j.told
}

// newest returns the pod that was created last, or nil.
func (j *jobState) newest() (last *sight) {
	for _, p := range j.pods {
		if last == nil || p.created.After(last.created) {
			last = &p.sight
		}
	}
	return last
}

// state returns the job's state by what is known of it and of its last pod, and the reason for
// it. "" is no state to report.
func (j *jobState) state(last *sight) (state cluster.State, reason, message string) {
	switch {
	case j.uid == "" && last != nil: // a pod outlives its job for a moment
		return "", "", ""
	case j.uid == "":
		return cluster.Gone, "", ""
	case j.ended == cluster.Succeeded:
		return cluster.Succeeded, "", ""
	case j.ended == cluster.Failed:
		reason, message = j.failed(last)
		return cluster.Failed, reason, message
	case last.runs() && last.overdue.IsZero():
		return cluster.Running, "", ""
	case last.runs():
		return cluster.Running, last.reason, last.message
	case j.suspend:
		return cluster.Pending, "Suspended", "the queue has not admitted it yet"
	case last != nil:
		return cluster.Pending, last.reason, last.message
	case j.reason != "":
		return cluster.Pending, j.reason, j.message
	}
	return cluster.Pending, j.told.Reason, j.told.Message
}

// failed returns why the Job failed: a controller's verdict, or the last pod's reason, also once
// that is gone, or else the Job's.
func (j *jobState) failed(last *sight) (reason, message string) {
	switch {
	case j.verdict:
	case last != nil && last.reason != "":
		return last.reason, last.message
	case last == nil && j.told.Reason != "":
		return j.told.Reason, j.told.Message
	}
	return j.reason, j.message
}

// view is the part of a Job that is kept.
type view struct {
	uid      string
	created  time.Time
	ended    cluster.State // "" while it is active
	deleting bool
	suspend  bool
	// reason and message are the verdict of a controller, the Job's condition, or why it
	// has no pod.
	reason, message string
	verdict         bool
}

// sight is the part of a pod that is kept.
type sight struct {
	name, uid, job string
	created        time.Time
	node           string
	phase          string
	started        bool
	// reason and message explain why it waits or why it failed.
	reason, message string
	// dead reports whether the worker's container was seen to end, final whether another
	// one would end in the same way.
	dead, final bool
	// stuck reports whether its reason persists however many other jobs end.
	stuck bool
	// spec is what a pod without a node asks for.
	spec        podSpec
	preemptible bool
	// overdue is the time by which its deletion should be done; zero without a deletion.
	overdue time.Time
	// over reports whether its Job should end, which Kubernetes does not know: it reached its
	// deadline, or its image or program cannot exist.
	over bool
}

func (p *sight) ended() bool { return p.phase == "Succeeded" || p.phase == "Failed" }

// runs reports whether there is a pod, and its worker runs.
func (p *sight) runs() bool { return p != nil && p.started && !p.ended() }

// unplaced reports whether the scheduler found no node for it.
func (p *sight) unplaced() bool { return p.node == "" && p.reason == "Unschedulable" }

// slow reports whether it is time to ask why a pod does not start.
func (p *sight) slow(now, asked time.Time) bool {
	waits, again := (p.node != "" || p.unplaced()) && !p.started && !p.stuck && !p.ended() && p.overdue.IsZero(), slowStart
	if p.unplaced() {
		again /= 2 // nodes are listed once for all, and a verdict should not outlive its cause
	}
	return waits && now.Sub(p.created) > slowStart && now.Sub(asked) > again
}

// asks reports whether it is time to ask why a pod of the job does not start. One that waits for
// a node is waited for if nodes come and go: it ran on one before, or is preemptible.
func (j *jobState) asks(p *podState, now time.Time) bool {
	return j.active() && p.slow(now, p.asked) && (p.node != "" || len(j.ran) == 0 && !p.preemptible)
}

// slowStart is the time in which a pod should start, and the interval between two
// reads of its events after that.
const slowStart = 20 * time.Second

// stuckReasons are the reasons for a missing container that need a person to act.
var stuckReasons = map[string]bool{
	"ImagePullBackOff": true, "RegistryUnavailable": true, "ImageInspectError": true, "CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
}

// hopelessReasons are those that stay.
var hopelessReasons = []string{"InvalidImageName", "ErrImageNeverPull"}

func viewOf(j *job) view {
	v := view{
		uid: string(j.UID), created: j.CreationTimestamp.Time,
		deleting: j.DeletionTimestamp != nil,
		suspend:  j.Spec.Suspend,
		reason:   j.Annotations[reasonNote], message: j.Annotations[messageNote],
	}
	v.verdict = v.reason != ""
	for _, c := range j.Status.Conditions {
		if c.Status != "True" {
			continue
		}
		switch c.Type {
		case "Complete":
			v.ended = cluster.Succeeded
		case "Failed":
			v.ended = cluster.Failed
			if !v.verdict {
				v.reason, v.message = c.Reason, c.Message
			}
		}
	}
	return v
}

// active reports whether the Job exists and nobody has ended it.
func (v view) active() bool { return v.uid != "" && v.ended == "" && !v.deleting && !v.verdict }

func sightOf(p *pod) (s sight) {
	s = sight{
		name: p.Name, uid: string(p.UID), job: p.Labels[jobLabel], created: p.CreationTimestamp.Time,
		node: p.Spec.NodeName, phase: p.Status.Phase, reason: p.Status.Reason, message: p.Status.Message,
		preemptible: p.Labels[preemptibleLabel] != "",
	}
	if p.DeletionTimestamp != nil {
		s.overdue = p.DeletionTimestamp.Time
	}
	if s.phase == "Failed" && s.reason == "DeadlineExceeded" {
		s.over, s.message = true, cluster.Late
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == workerName {
			s.look(c)
		}
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == "DisruptionTarget" && c.Status == "True":
			s.reason, s.message = disruption(c, s.reason), c.Message
		case c.Type == "PodScheduled" && c.Status == "False" && s.node == "":
			s.reason, s.message, s.spec = c.Reason, c.Message, p.Spec
		}
	}
	return s
}

// noProgram matches what runc and crun say if a container's program is missing or cannot
// be executed. Other errors of a start, such as those of a GPU's driver, are the node's.
var noProgram = pattern.New(`exec: "|executable file`)

// look reads the state of the worker's container.
func (s *sight) look(c containerStatus) {
	switch {
	case c.State.Running != nil:
		s.started = true
	case c.State.Terminated != nil:
		t := c.State.Terminated
		s.started = t.StartedAt.Unix() > 0 && t.Reason != "StartError"
		s.dead = true
		missing := t.Reason == "StartError" && noProgram.Regexp().MatchString(t.Message)
		s.over = s.over || missing
		s.final = missing || slices.Contains(cluster.FinalExits, t.ExitCode)
		if s.reason == "" && t.ExitCode != 0 {
			s.reason = t.Reason
			s.message = strings.TrimSuffix(fmt.Sprintf("the worker ended with exit status %d: %s", t.ExitCode, cluster.LastLine(t.Message)), ": ")
			if missing || t.ExitCode == cluster.ExitNotRun || t.ExitCode == cluster.ExitNotFound {
				s.message = fmt.Sprintf("image %s cannot run the worker (status %d: %s); write command = [\"…\"] in the cluster file, or an image that has mleflow", c.Image, t.ExitCode, cluster.LastLine(t.Message))
			}
		}
	case c.State.Waiting != nil && !s.ended():
		s.reason, s.message = c.State.Waiting.Reason, c.State.Waiting.Message
		if s.reason == "ErrImagePull" { // the same, at the moment of a try
			s.reason = "ImagePullBackOff"
		}
		s.stuck = stuckReasons[s.reason]
		s.over = s.over || slices.Contains(hopelessReasons, s.reason)
		if s.stuck || s.over {
			s.message = fmt.Sprintf("image %s: %s", c.Image, s.message)
		}
	}
}

// disruption returns the usual word for the cause of a pod's end.
func disruption(c condition, reason string) string {
	switch c.Reason {
	case "PreemptionByScheduler":
		return "Preempted"
	case "DeletionByTaintManager", "DeletionByPodGC":
		return "NodeLost"
	case "EvictionByEvictionAPI":
		return "Evicted"
	}
	return cmp.Or(reason, c.Reason)
}
