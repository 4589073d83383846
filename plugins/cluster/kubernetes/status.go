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
	// overdue is the time by which its deletion should be done; zero without a deletion.
	overdue time.Time
	// over reports whether its Job should end, which Kubernetes does not know: it reached its
	// deadline, or its image or program cannot exist.
	over bool
}

func (p *sight) ended() bool { return p.phase == "Succeeded" || p.phase == "Failed" }

// runs reports whether there is a pod, and its worker runs.
func (p *sight) runs() bool { return p != nil && p.started && !p.ended() }

// slow reports whether it is time to ask why a pod on a node does not start.
func (p *sight) slow(now, asked time.Time) bool {
	waits := p.node != "" && !p.started && !p.stuck && !p.ended() && p.overdue.IsZero()
	return waits && now.Sub(p.created) > slowStart && now.Sub(asked) > slowStart
}

// slowStart is the time in which a pod should start, and the interval between two
// reads of its events after that.
const slowStart = 20 * time.Second

// stuckReasons are the reasons for a missing container that need a person to act.
var stuckReasons = map[string]bool{
	"ImagePullBackOff": true, "ErrImagePull": true, "RegistryUnavailable": true, "ImageInspectError": true, "CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
}

// hopelessReasons are those that stay.
var hopelessReasons = []string{"InvalidImageName", "ErrImageNeverPull"}

func viewOf(j *job) view {
	v := view{
		uid: string(j.UID), created: j.CreationTimestamp.Time,
		deleting: j.DeletionTimestamp != nil,
		suspend:  j.Spec.Suspend != nil && *j.Spec.Suspend,
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
			s.reason, s.message = c.Reason, c.Message
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
