package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/mleflow/mleflow/engine/dag"
)

// phase is the current stage of a task's life.
type phase uint8

const (
	pending   phase = iota // waits for its predecessors
	queued                 // waits to be resolved
	resolving              // is being resolved
	waiting                // waits for a lease
	parked                 // waits for a task with the same key
	running                // has a lease
	backoff                // waits for a retry
	ended
)

// lives are the phases and priorities of all tasks.
type lives struct {
	phase   []phase
	missing []int // number of predecessors that have not succeeded yet
	rank    []int // position in order of priority
	task    []int // task with a rank
	open    int   // number of tasks that have not ended
}

// newLives ranks the tasks: prompt tasks first, then by the longest chain of
// work from each task on. Each task counts an additional nanosecond, so that
// the number of tasks decides if durations are unknown.
func newLives(tasks []Task, graph *dag.Graph) lives {
	n := len(tasks)
	l := lives{make([]phase, n), make([]int, n), make([]int, n), make([]int, n), n}
	for i := range n {
		l.task[i] = i
		l.missing[i] = len(graph.Pred(i))
	}
	chain := graph.Longest(func(i int) int64 { return int64(max(0, tasks[i].Weight)) + 1 })
	for i := range chain {
		if tasks[i].Prompt {
			chain[i] = math.MaxInt64
		}
	}
	slices.SortFunc(l.task, func(a, b int) int {
		if c := cmp.Compare(chain[b], chain[a]); c != 0 {
			return c
		}
		return a - b
	})
	for r, i := range l.task {
		l.rank[i] = r
	}
	return l
}

// pendingAfter returns the pending successors of i, direct or not, in ascending
// order. Successors of ended tasks have ended already.
func (l *lives) pendingAfter(i int, graph *dag.Graph) []int {
	var found []int
	stack := []int{i}
	seen := map[int]bool{}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, n := range graph.Succ(at) {
			if l.phase[n] == pending && !seen[n] {
				seen[n] = true
				found = append(found, n)
				stack = append(stack, n)
			}
		}
	}
	slices.Sort(found)
	return found
}

// keys are the keys of tasks that run or wait for a lease.
type keys struct {
	owned  map[int]string
	owners map[string][]int // the owner, then the parked tasks
}

// own makes i the owner of the key. If the key has an owner, it queues i behind
// it and returns false.
func (k *keys) own(i int, key string) bool {
	line := k.owners[key]
	k.owners[key] = append(line, i)
	if len(line) > 0 {
		return false
	}
	k.owned[i] = key
	return true
}

// disown ends the ownership of i and returns the tasks parked behind it.
func (k *keys) disown(i int) []int {
	key, ok := k.owned[i]
	if !ok {
		return nil
	}
	line := k.owners[key]
	delete(k.owned, i)
	delete(k.owners, key)
	return line[1:]
}
