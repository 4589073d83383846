package sched

import (
	"math"
	"time"
)

// amounts is an amount of each resource, requested or free.
type amounts struct {
	milliCPUs, memory, disk int64
	gpus                    int
}

const unlimited = math.MaxInt64

func amountsOf(r Resources) amounts {
	return amounts{milli(r.CPUs), max(0, r.MemoryBytes), max(0, r.DiskBytes), max(0, r.GPUs)}
}

// amounts returns the amounts that the task leases.
func (t *Task) amounts() amounts {
	a := amountsOf(t.Needs)
	if t.Prompt {
		a.milliCPUs = 0
	}
	return a
}

func (a amounts) fits(free amounts) bool {
	return a.milliCPUs <= free.milliCPUs && a.memory <= free.memory && a.disk <= free.disk && a.gpus <= free.gpus
}

// reserve subtracts b from a, but not below zero.
func (a *amounts) reserve(b amounts) {
	a.milliCPUs = take(a.milliCPUs, b.milliCPUs)
	a.memory = take(a.memory, b.memory)
	a.disk = take(a.disk, b.disk)
	a.gpus = max(0, a.gpus-b.gpus)
}

func (a *amounts) add(b amounts) {
	a.milliCPUs = give(a.milliCPUs, b.milliCPUs)
	a.memory = give(a.memory, b.memory)
	a.disk = give(a.disk, b.disk)
	a.gpus += b.gpus
}

func take(a, b int64) int64 {
	if a == unlimited {
		return a
	}
	return max(0, a-b)
}

func give(a, b int64) int64 {
	if a == unlimited {
		return a
	}
	return a + b
}

// pool is the free part of the machine.
type pool struct {
	free    amounts
	devices []device
	locks   *DeviceLocks
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
	p := &pool{locks: locks, free: amounts{milli(c.CPUs), c.MemoryBytes, c.DiskBytes, len(c.Devices)}}
	for _, limit := range []*int64{&p.free.milliCPUs, &p.free.memory, &p.free.disk} {
		if *limit <= 0 {
			*limit = unlimited
		}
	}
	for _, name := range c.Devices {
		p.devices = append(p.devices, device{name: name})
	}
	return p
}

// take leases all resources of a request that fits, or none, and returns the
// indexes of its devices. It fails only if other processes hold devices.
func (p *pool) take(a amounts) ([]int, bool) {
	taken, ok := p.takeDevices(a.gpus)
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
