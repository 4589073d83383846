package containerd

import (
	"context"
	"fmt"
	"time"

	cgroup1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	cgroup2 "github.com/containerd/cgroups/v3/cgroup2/stats"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/typeurl/v2"
)

// usage is what a container used, as its cgroup counts.
type usage struct {
	cpu      time.Duration
	peak     int64
	oomKills int
}

// measure reads the cgroup's counters. It must be called before the task is
// deleted.
func measure(ctx context.Context, task client.Task) (usage, error) {
	m, err := task.Metrics(ctx)
	if err != nil {
		return usage{}, fmt.Errorf("read what the container used: %w", err)
	}
	data, err := typeurl.UnmarshalAny(m.Data)
	if err != nil {
		return usage{}, fmt.Errorf("read what the container used: %w", err)
	}
	return usageOf(data)
}

// usageOf knows the counters of both versions of cgroups.
func usageOf(data any) (usage, error) {
	switch m := data.(type) {
	case *cgroup1.Metrics:
		return usage{
			cpu:      time.Duration(m.GetCPU().GetUsage().GetTotal()),
			peak:     int64(m.GetMemory().GetUsage().GetMax()),
			oomKills: int(m.GetMemoryOomControl().GetOomKill()),
		}, nil
	case *cgroup2.Metrics:
		// Kernels before 5.19 do not keep the peak.
		peak := max(m.GetMemory().GetMaxUsage(), m.GetMemory().GetUsage())
		return usage{
			cpu:      time.Duration(m.GetCPU().GetUsageUsec()) * time.Microsecond,
			peak:     int64(peak),
			oomKills: int(m.GetMemoryEvents().GetOomKill()),
		}, nil
	}
	return usage{}, fmt.Errorf("read what the container used: unknown metrics %T", data)
}
