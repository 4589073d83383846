package fleet

import (
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// phase is how far a job that is followed has come, by its statuses.
type phase string

const (
	// starting: no status has come.
	starting phase = "starting"
	// replacing: the job of this name that was there before has ended, and no status of this
	// one has come.
	replacing phase = "replacing"
	// waiting: for a node, or an image.
	waiting phase = "waiting"
	running phase = "running"
	// claimed: a worker runs, and the one before it has not given the step up.
	claimed phase = "claimed"
	// restarting: the last worker is lost, and another one is to come.
	restarting phase = "restarting"
	succeeded  phase = "succeeded"
	failed     phase = "failed"
)

// phases say what a phase means for the job's workers, whether there may be events or a
// result of them, and the state that people are told; "" is none.
var phases = map[phase]struct {
	crew  work.Crew
	polls bool
	shown string
}{
	starting:   {crew: work.Working},
	replacing:  {crew: work.Ended, polls: true},
	waiting:    {crew: work.Working, shown: event.JobPending},
	running:    {crew: work.Working, polls: true, shown: event.JobRunning},
	claimed:    {crew: work.Working, polls: true, shown: event.JobPending},
	restarting: {crew: work.Lost, polls: true, shown: event.JobPending},
	succeeded:  {crew: work.Ended, polls: true},
	failed:     {crew: work.Ended, polls: true, shown: event.JobEnded},
}

// ended reports whether no worker of this job runs or will run.
func (p phase) ended() bool { return p == succeeded || p == failed }

// stale is how long the status of a job that was replaced may still come.
const stale = 10 * time.Second

// next returns the phase that a status leads to.
func (w *watched) next(s cluster.Status) phase {
	switch {
	case w.isOurs(s):
	case s.State.Ended():
		return replacing
	default:
		return starting
	}
	switch s.State {
	case cluster.Succeeded:
		return succeeded
	case cluster.Failed, cluster.Gone:
		return failed
	case cluster.Running:
		if w.silent != 0 && w.silent == w.task.Heard() {
			return claimed
		}
		return running
	}
	if s.State == cluster.Pending && s.Starts > 0 {
		return restarting
	}
	return waiting
}

// isOurs reports whether a status is of this job, and not of the one before it: once one was,
// a job under way, one with another ID, or any when the old status can no longer come.
func (w *watched) isOurs(s cluster.Status) bool {
	return w.phase != starting && w.phase != replacing ||
		s.State != "" && !s.State.Ended() ||
		s.ID != "" && s.ID != w.before ||
		time.Since(w.started) > stale
}
