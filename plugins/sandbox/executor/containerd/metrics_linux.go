package containerd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	cgroup1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	cgroup2 "github.com/containerd/cgroups/v3/cgroup2/stats"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/typeurl/v2"
)

// usage is a container's use of resources, according to its cgroup.
type usage struct {
	cpu  time.Duration
	peak int64
	// now is the memory that it currently holds, without cached files, which the kernel
	// frees when memory is short.
	now      int64
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
	u, err := usageOf(data)
	if _, unified := data.(*cgroup2.Metrics); unified {
		u.peak = max(u.peak, unifiedPeak(int(task.Pid())))
	}
	return u, err
}

// unifiedPeak returns the peak memory of a process's cgroup of version 2, which daemons
// before containerd 1.7 do not report. It returns 0 if the peak is unknown: kernels
// before 5.19 do not record it.
func unifiedPeak(pid int) int64 {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(groups)) {
		group, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::/")
		if !ok || group == "" {
			continue // version 1, or not a group of its own
		}
		text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", group, "memory.peak"))
		if err != nil {
			return 0
		}
		peak, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return peak
	}
	return 0
}

func held(usage, files uint64) int64 { return int64(usage - min(usage, files)) }

// usageOf reads the counters of either version of cgroups.
func usageOf(data any) (usage, error) {
	switch m := data.(type) {
	case *cgroup1.Metrics:
		return usage{
			cpu:      time.Duration(m.GetCPU().GetUsage().GetTotal()),
			peak:     int64(m.GetMemory().GetUsage().GetMax()),
			now:      held(m.GetMemory().GetUsage().GetUsage(), m.GetMemory().GetTotalInactiveFile()),
			oomKills: int(m.GetMemoryOomControl().GetOomKill()),
		}, nil
	case *cgroup2.Metrics:
		peak := max(m.GetMemory().GetMaxUsage(), m.GetMemory().GetUsage())
		return usage{
			cpu:      time.Duration(m.GetCPU().GetUsageUsec()) * time.Microsecond,
			peak:     int64(peak),
			now:      held(m.GetMemory().GetUsage(), m.GetMemory().GetInactiveFile()),
			oomKills: int(m.GetMemoryEvents().GetOomKill()),
		}, nil
	}
	return usage{}, fmt.Errorf("read what the container used: unknown metrics %T", data)
}
