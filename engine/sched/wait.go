package sched

import (
	"slices"
	"time"
)

// Resource is a resource for which tasks wait.
type Resource string

// The resources. Options.Parallelism limits the number of slots.
const (
	CPU    Resource = "cpu"
	Memory Resource = "memory"
	Disk   Resource = "disk"
	GPU    Resource = "gpu"
	Slots  Resource = "slots"
)

// Wait is the number of tasks that wait only for one resource.
type Wait struct {
	Resource Resource
	Tasks    int
	// Next is the index of the first of them.
	Next int
	// Holders is the number of running tasks that hold some of it.
	Holders int
	// Elsewhere means that other processes hold the missing part.
	Elsewhere bool
}

// waitsEvery is the minimum interval between two calls of Options.OnWait.
const waitsEvery = 500 * time.Millisecond

// waits is the last report about waiting tasks.
type waits struct {
	told []Wait
	last time.Time
	// due is the time of the next check, or zero if none is needed.
	due     time.Time
	holders map[Resource]int
}

// hold counts a task that starts (1) or ends (-1).
func (w *waits) hold(a amounts, n int) {
	for _, r := range []struct {
		resource Resource
		held     bool
	}{{CPU, a.milliCPUs > 0}, {Memory, a.memory > 0}, {Disk, a.disk > 0}, {GPU, a.gpus > 0}, {Slots, true}} {
		if r.held {
			w.holders[r.resource] += n
		}
	}
}

// reportWaits calls OnWait if the waits have changed.
func (s *scheduler) reportWaits() {
	w := &s.waits
	if s.o.OnWait == nil || len(s.queue.active) == 0 && len(w.told) == 0 {
		return
	}
	now := time.Now()
	if next := w.last.Add(waitsEvery); now.Before(next) && len(s.queue.active) > 0 {
		w.due = next
		return
	}
	w.due = time.Time{}
	if found := s.findWaits(); !slices.Equal(found, w.told) {
		w.told, w.last = found, now
		s.o.OnWait(found)
	}
}

// findWaits visits the lines as dispatch does: each line reserves the resources
// of its first task.
func (s *scheduler) findWaits() (found []Wait) {
	free := s.pool.free
	active := slices.Clone(s.queue.active)
	slices.SortFunc(active, func(a, b *line) int { return a.ranks.Least() - b.ranks.Least() })
	for _, l := range active {
		w := Wait{Resource: l.request.lacks(free), Tasks: l.ranks.Len(), Next: s.life.task[l.ranks.Least()]}
		switch {
		case w.Resource != "":
		case s.running >= s.o.Parallelism:
			w.Resource = Slots
		case l.request.gpus > 0:
			w.Resource, w.Elsewhere = GPU, true
		default:
			continue // behind too many tasks that do not fit
		}
		w.Holders = s.waits.holders[w.Resource]
		free.reserve(l.request)
		if i := slices.IndexFunc(found, func(o Wait) bool { return o.Resource == w.Resource && o.Elsewhere == w.Elsewhere }); i >= 0 {
			found[i].Tasks += w.Tasks
			continue
		}
		found = append(found, w)
	}
	return found
}

// lacks names the scarcest kind of resource of which less is free than
// requested, or returns "".
func (a amounts) lacks(free amounts) Resource {
	switch {
	case a.gpus > free.gpus:
		return GPU
	case a.memory > free.memory:
		return Memory
	case a.disk > free.disk:
		return Disk
	case a.milliCPUs > free.milliCPUs:
		return CPU
	}
	return ""
}
