package confined

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Machine holds the resources that all children share.
type Machine struct {
	CPUs   float64
	Memory int64 // in bytes; 0 is unknown
}

// slots limits how many children run at once: as many as there are processors,
// and as many as the memory suffices for if each takes all that it may have.
// One whose limit is more than the machine has runs alone. Who asked first is
// first.
type slots struct {
	memory int64 // in all
	share  int64 // the least that a child takes
	left   *semaphore.Weighted
}

func newSlots(m Machine) *slots {
	cpus := max(1, int64(m.CPUs))
	if m.Memory <= 0 {
		m.Memory = cpus * baseMemory
	}
	return &slots{m.Memory, m.Memory / cpus, semaphore.NewWeighted(m.Memory)}
}

// enter waits until a child with so much memory may run. Call leave when the
// child has ended.
func (r *slots) enter(ctx context.Context, memory int64) (leave func(), err error) {
	memory = min(max(memory, r.share), r.memory)
	if err := r.left.Acquire(ctx, memory); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { r.left.Release(memory) }, nil
}

// alone is enter for a child that runs alone.
func (r *slots) alone(ctx context.Context) (leave func(), err error) { return r.enter(ctx, r.memory) }
