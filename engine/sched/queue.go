package sched

import (
	"cmp"
	"container/heap"

	"github.com/mleflow/mleflow/engine/internal/minheap"
)

// ranks has the least rank first.
type ranks = *minheap.Heap[int]

func newRanks() ranks { return minheap.New(cmp.Less[int]) }

// queue holds the tasks that wait for a lease, by rank. Tasks with the same
// request share a line: if its first task does not fit, none does.
type queue struct {
	lines  map[amounts]*line
	active lines
	// noCPU is the number of active lines whose tasks need no CPU.
	noCPU int
}

type line struct {
	request amounts
	ranks   ranks
	at      int // index in lines
}

// lines is a heap of non-empty lines ordered by their first rank.
type lines []*line

func (h lines) Len() int           { return len(h) }
func (h lines) Less(i, j int) bool { return h[i].ranks.Least() < h[j].ranks.Least() }
func (h lines) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}
func (h *lines) Push(x any) {
	l := x.(*line)
	l.at = len(*h)
	*h = append(*h, l)
}
func (h *lines) Pop() any {
	s := *h
	last := s[len(s)-1]
	*h = s[:len(s)-1]
	return last
}

func newQueue() *queue { return &queue{lines: map[amounts]*line{}} }

func (q *queue) push(rank int, request amounts) {
	l := q.lines[request]
	if l == nil {
		l = &line{request: request, ranks: newRanks()}
		q.lines[request] = l
	}
	wasEmpty := l.ranks.Len() == 0
	front := wasEmpty || rank < l.ranks.Least()
	l.ranks.Push(rank)
	switch {
	case wasEmpty:
		heap.Push(&q.active, l)
		q.count(request, 1)
	case front:
		heap.Fix(&q.active, l.at)
	}
}

// lookahead is the number of unfit requests that dispatch skips before it
// stops. Each reserves its resources. It bounds the cost of a dispatch if many
// different requests wait.
const lookahead = 32

// dispatch calls start for at most limit waiting tasks in order of rank, as
// long as they fit into the free and unreserved resources. start returns false
// if the task cannot be started after all. The task then reserves its resources
// like one that does not fit. dispatch returns the resources that remain free
// and unreserved.
func (q *queue) dispatch(free amounts, limit int, start func(rank int) bool) amounts {
	var blocked []*line
	for len(q.active) > 0 && len(blocked) < lookahead && limit > 0 {
		if free.milliCPUs == 0 && q.noCPU == 0 {
			break // usual end: no waiting task can start
		}
		l := q.active[0]
		if !l.request.fits(free) || !start(l.ranks.Least()) {
			free.reserve(l.request)
			blocked = append(blocked, heap.Pop(&q.active).(*line))
			continue
		}
		limit--
		free.reserve(l.request)
		l.ranks.Pop()
		q.settle()
	}
	for _, l := range blocked {
		heap.Push(&q.active, l)
	}
	return free
}

// settle restores the order after the first line has lost its first rank.
func (q *queue) settle() {
	if q.active[0].ranks.Len() == 0 {
		l := heap.Pop(&q.active).(*line)
		q.count(l.request, -1)
		return
	}
	heap.Fix(&q.active, 0)
}

func (q *queue) count(request amounts, n int) {
	if request.milliCPUs == 0 {
		q.noCPU += n
	}
}
