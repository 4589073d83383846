package sched

import (
	"errors"
	"fmt"
	"slices"
)

// ErrChanged is the Summary's Interrupted of a run of which a person drained or cancelled
// a part.
var ErrChanged = errors.New("a part was not run, as a person asked")

// ErrRunning is the answer to a Drop of a task that runs.
var ErrRunning = errors.New("it is running")

// Change changes a run while it is going on. Its zero value changes nothing.
type Change struct {
	// Parallelism, unless it is 0, replaces that of the options, and Devices is the most
	// devices that are leased at once. Running tasks keep what they have.
	Parallelism int
	Devices     *int
	// Drain cancels everything that does not run, but for prompt tasks that report on
	// what does.
	Drain bool
	// Drop is the name of a task to cancel, with all that depends on it, unless it is
	// running.
	Drop string
	// Done receives the answer. It must be quick.
	Done func(error)
}

// change makes a change.
func (s *scheduler) change(c Change) {
	s.dirty = true
	if c.Parallelism > 0 {
		s.o.Parallelism = c.Parallelism
	}
	var err error
	if c.Devices != nil {
		err = s.pool.limit(*c.Devices)
	}
	if c.Drain {
		s.drain()
	}
	if c.Drop != "" {
		err = s.dropNamed(c.Drop)
	}
	c.Done(err)
}

// drain cancels the tasks that do not run, and what depends on them.
func (s *scheduler) drain() {
	s.draining = true
	for i, p := range s.life.phase {
		if p != running && p != resolving && !s.tasks[i].Prompt {
			s.drop(i, s.retries.result(i, Cancelled))
		}
	}
	s.requeue()
}

// dropNamed cancels a task that does not run.
func (s *scheduler) dropNamed(name string) error {
	i := slices.IndexFunc(s.tasks, func(t Task) bool { return t.Name == name })
	switch {
	case i < 0 || s.life.phase[i] == ended:
		return fmt.Errorf("%s has ended", name)
	case s.life.phase[i] == running || s.life.phase[i] == resolving:
		return ErrRunning
	}
	r := s.retries.result(i, Cancelled)
	r.Err = s.o.Dropped
	s.drop(i, r)
	s.requeue()
	return nil
}

// drop ends a task as cancelled, with all that depends on it.
func (s *scheduler) drop(i int, r Result) {
	if s.life.phase[i] == ended {
		return
	}
	s.changed = true
	r.Status = Cancelled
	s.end(i, r)
	for _, n := range s.life.pendingAfter(i, s.graph) {
		s.end(n, Result{Status: Cancelled})
	}
}

// requeue rebuilds the queues from the tasks that still wait.
func (s *scheduler) requeue() {
	s.queue, s.prompt, s.resolver.queue = newQueue(), newQueue(), newRanks()
	for i, p := range s.life.phase {
		switch p {
		case queued:
			s.resolver.queue.Push(s.life.rank[i])
		case waiting:
			s.enqueue(i)
		}
	}
}
