package sched

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mleflow/mleflow/engine/internal/minheap"
)

// amounts is an amount of each resource, requested or free.
type amounts [4]int64

// The indexes of amounts, the scarcest resource first. CPUs are counted in thousandths.
const (
	gpus = iota
	memory
	disk
	milliCPUs
)

var resources = [...]Resource{gpus: GPU, memory: Memory, disk: Disk, milliCPUs: CPU}

const unlimited = math.MaxInt64

// amounts returns the amounts that the task leases.
func (t *Task) amounts() amounts {
	a := amountsOf(t.Needs)
	if t.Prompt {
		a[milliCPUs] = 0
	}
	return a
}

func amountsOf(r Resources) amounts {
	return amounts{milliCPUs: milli(r.CPUs), memory: max(0, r.MemoryBytes), disk: max(0, r.DiskBytes), gpus: int64(max(0, r.GPUs))}
}

func (a amounts) fits(free amounts) bool { return a.lacks(free) == "" }

// reserve subtracts b from a, but not below zero.
func (a *amounts) reserve(b amounts) {
	for i := range a {
		if a[i] != unlimited {
			a[i] = max(0, a[i]-b[i])
		}
	}
}

func (a *amounts) add(b amounts) {
	for i := range a {
		if a[i] != unlimited {
			a[i] += b[i]
		}
	}
}

// lacks names the scarcest kind of resource of which less is free than
// requested, or returns "".
func (a amounts) lacks(free amounts) Resource {
	for i, r := range resources {
		if a[i] > free[i] {
			return r
		}
	}
	return ""
}

// pool is the free part of the machine.
type pool struct {
	free    amounts
	devices []device
	locks   *DeviceLocks
	// withhold is how many devices must stay unused, and withheld how many of these have
	// been taken from free.
	withhold, withheld int
	// retryAt is the time at which to lease devices again that are held by other
	// processes.
	retryAt time.Time
}

type device struct {
	name   string
	leased bool
	unlock func()
}

// devicePoll is the interval at which the scheduler asks again for devices held by other
// processes.
const devicePoll = 250 * time.Millisecond

func newPool(c Capacity, locks *DeviceLocks) *pool {
	p := &pool{locks: locks, free: amounts{milliCPUs: milli(c.CPUs), memory: c.MemoryBytes, disk: c.DiskBytes, gpus: int64(len(c.Devices))}}
	for i := range p.free {
		if i != gpus && p.free[i] <= 0 {
			p.free[i] = unlimited
		}
	}
	for _, name := range c.Devices {
		p.devices = append(p.devices, device{name: name})
	}
	p.withhold = c.Withheld
	p.settleDevices()
	return p
}

// limit sets the most devices that are leased at once.
func (p *pool) limit(n int) error {
	if n < 0 || n > len(p.devices) {
		return fmt.Errorf("the machine has %d GPUs", len(p.devices))
	}
	p.withhold = len(p.devices) - n
	p.settleDevices()
	return nil
}

// settleDevices keeps back as many free devices as are to be withheld.
func (p *pool) settleDevices() {
	n := min(int64(p.withhold-p.withheld), p.free[gpus])
	p.free[gpus] -= n
	p.withheld += int(n)
}

// take leases all resources of a request that fits, or none, and returns the
// indexes of its devices. It fails only if other processes hold devices.
func (p *pool) take(a amounts) ([]int, bool) {
	taken, ok := p.takeDevices(int(a[gpus]))
	if ok {
		p.free.reserve(a)
	}
	return taken, ok
}

func (p *pool) takeDevices(n int) ([]int, bool) {
	if n == 0 {
		return nil, true
	}
	if p.locks != nil && time.Now().Before(p.retryAt) {
		return nil, false
	}
	var taken []int
	for i := range p.devices {
		d := &p.devices[i]
		if len(taken) == n || d.leased || !p.lock(d) {
			continue
		}
		d.leased = true
		taken = append(taken, i)
	}
	if len(taken) < n {
		p.releaseDevices(taken)
		p.retryAt = time.Now().Add(devicePoll)
		return nil, false
	}
	return taken, true
}

func (p *pool) lock(d *device) bool {
	if p.locks == nil {
		return true
	}
	unlock, ok := p.locks.try(d.name)
	d.unlock = unlock
	return ok
}

func (p *pool) releaseDevices(taken []int) {
	for _, i := range taken {
		d := &p.devices[i]
		if d.unlock != nil {
			d.unlock()
		}
		d.leased, d.unlock = false, nil
	}
}

// release ends a lease.
func (p *pool) release(a amounts, taken []int) {
	p.free.add(a)
	p.settleDevices()
	p.releaseDevices(taken)
	if len(taken) > 0 {
		p.retryAt = time.Time{}
	}
}

func (p *pool) names(taken []int) []string {
	var names []string
	for _, i := range taken {
		names = append(names, p.devices[i].name)
	}
	return names
}

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
		if free[milliCPUs] == 0 && q.noCPU == 0 {
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
	if request[milliCPUs] == 0 {
		q.noCPU += n
	}
}

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
	for i, r := range resources {
		if a[i] > 0 {
			w.holders[r] += n
		}
	}
	w.holders[Slots] += n
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
		case l.request[gpus] > 0:
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
