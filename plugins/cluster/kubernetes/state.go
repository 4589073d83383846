package kubernetes

import (
	"time"

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
		j.view = viewOf(o)
	case *pod:
		if j.pods[o.Name] == nil {
			j.pods[o.Name] = &podState{}
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
	for _, t := range transitions {
		if t.holds(j, last) {
			st.State = t.to
			st.Reason, st.Message = t.why(j, last)
			break
		}
	}
	switch st.State {
	case cluster.Gone:
		st = cluster.Status{Job: j.name, State: cluster.Gone}
		return st, j.told.Job != ""
	case cluster.Failed:
		st.Final = last != nil && last.final
	case cluster.Pending:
		st.Dead = last != nil && last.dead
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

// transitions lead from what is known of a job and of its last pod to the job's state and to
// the reason for it. The first that holds counts. "" is no state to report.
var transitions = []struct {
	to    cluster.State
	holds func(j *jobState, last *sight) bool
	why   func(j *jobState, last *sight) (reason, message string)
}{
	{"", func(j *jobState, last *sight) bool { return j.uid == "" && last != nil }, none}, // a pod outlives its job for a moment
	{cluster.Gone, func(j *jobState, _ *sight) bool { return j.uid == "" }, none},
	{cluster.Succeeded, func(j *jobState, _ *sight) bool { return j.ended == cluster.Succeeded }, none},
	{cluster.Failed, func(j *jobState, _ *sight) bool { return j.ended == cluster.Failed && j.verdict }, ofJob},
	{cluster.Failed, func(j *jobState, _ *sight) bool { return j.ended == cluster.Failed }, ofPodOrJob},
	{cluster.Running, func(_ *jobState, last *sight) bool { return last.runs() && last.overdue.IsZero() }, none},
	{cluster.Running, func(_ *jobState, last *sight) bool { return last.runs() }, ofPod},
	{cluster.Pending, func(j *jobState, _ *sight) bool { return j.suspend }, notAdmitted},
	{cluster.Pending, func(_ *jobState, last *sight) bool { return last != nil }, ofPod},
	{cluster.Pending, func(j *jobState, _ *sight) bool { return j.reason != "" }, ofJob},
	{cluster.Pending, func(*jobState, *sight) bool { return true }, asBefore},
}

func none(*jobState, *sight) (reason, message string)         { return "", "" }
func ofJob(j *jobState, _ *sight) (reason, message string)    { return j.reason, j.message }
func ofPod(_ *jobState, last *sight) (reason, message string) { return last.reason, last.message }
func asBefore(j *jobState, _ *sight) (reason, message string) { return j.told.Reason, j.told.Message }
func notAdmitted(*jobState, *sight) (reason, message string) {
	return "Suspended", "the queue has not admitted it yet"
}

// ofPodOrJob is the last pod's reason, also once that is gone, or else the Job's.
func ofPodOrJob(j *jobState, last *sight) (reason, message string) {
	switch {
	case last != nil && last.reason != "":
		return last.reason, last.message
	case last == nil && j.told.Reason != "":
		return j.told.Reason, j.told.Message
	}
	return j.reason, j.message
}
