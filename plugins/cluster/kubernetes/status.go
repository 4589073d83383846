package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// view is the part of a Job that is kept.
type view struct {
	uid      string
	ended    cluster.State // "" while it is active
	deleting bool
	suspend  bool
	// reason and message are the verdict of a controller, or the Job's condition.
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
	// dead reports whether the worker's container was seen to end, final whether its exit status is one of cluster.FinalExits.
	dead, final bool
	// stuck reports whether its reason persists however many other jobs end.
	stuck bool
	// overdue is the time by which its deletion should be done; zero without a deletion.
	overdue time.Time
	// expired reports whether it reached its deadline.
	expired bool
}

func (p *sight) ended() bool { return p.phase == "Succeeded" || p.phase == "Failed" }

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
	"ImagePullBackOff": true, "ErrImagePull": true, "InvalidImageName": true, "ErrImageNeverPull": true, "RegistryUnavailable": true,
	"ImageInspectError": true, "CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
}

func viewOf(j *job) view {
	v := view{
		uid:      string(j.UID),
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

func sightOf(p *pod) *sight {
	s := &sight{
		name: p.Name, uid: string(p.UID), job: p.Labels[jobLabel], created: p.CreationTimestamp.Time,
		node: p.Spec.NodeName, phase: p.Status.Phase, reason: p.Status.Reason, message: p.Status.Message,
	}
	if p.DeletionTimestamp != nil {
		s.overdue = p.DeletionTimestamp.Time
	}
	s.expired = s.phase == "Failed" && s.reason == "DeadlineExceeded"
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

// look reads the state of the worker's container.
func (s *sight) look(c containerStatus) {
	switch {
	case c.State.Running != nil:
		s.started = true
	case c.State.Terminated != nil:
		t := c.State.Terminated
		s.started = t.StartedAt.Unix() > 0 && t.Reason != "StartError"
		s.dead = true
		s.final = slices.Contains(cluster.FinalExits, t.ExitCode)
		if s.reason == "" && t.ExitCode != 0 {
			s.reason = t.Reason
			s.message = strings.TrimSuffix(fmt.Sprintf("the worker ended with exit status %d: %s", t.ExitCode, cluster.LastLine(t.Message)), ": ")
		}
	case c.State.Waiting != nil && !s.ended():
		s.reason, s.message = c.State.Waiting.Reason, c.State.Waiting.Message
		if s.stuck = stuckReasons[s.reason]; s.stuck {
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

// status combines a job and its pods. last is the newest pod, nil if there was none.
func status(name string, v view, last *sight, starts int) cluster.Status {
	st := cluster.Status{Job: name, ID: v.uid, State: cluster.Pending, Starts: starts}
	if last != nil {
		st.Node, st.Reason, st.Message, st.Final = last.node, last.reason, last.message, last.final
	}
	switch {
	case v.ended == cluster.Succeeded:
		st.State, st.Reason, st.Message = cluster.Succeeded, "", ""
	case v.ended == cluster.Failed:
		st.State = cluster.Failed
		if v.verdict || st.Reason == "" {
			st.Reason, st.Message = v.reason, v.message
		}
	case last != nil && last.started && !last.ended():
		st.State = cluster.Running
		if last.overdue.IsZero() {
			st.Reason, st.Message = "", ""
		}
	case v.suspend:
		st.Reason, st.Message = "Suspended", "the queue has not admitted it yet"
	}
	if v.ended != cluster.Failed {
		st.Final = false
		st.Dead = st.State == cluster.Pending && last != nil && last.dead
	}
	return st
}
