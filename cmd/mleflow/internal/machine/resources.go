package machine

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

const gib = 1 << 30

func (m Machine) processors() Check {
	n := runtime.NumCPU()
	c := Check{Name: "processors", Status: OK, Detail: fmt.Sprintf("%d usable", n)}
	if quota := m.cgroupCPUs(); quota > 0 && quota < float64(n) {
		c.Detail += fmt.Sprintf(", limited to %g by the control group", quota)
	}
	return c
}

// cgroupCPUs returns the processor quota of the control group, 0 for none.
func (m Machine) cgroupCPUs() float64 {
	text, err := os.ReadFile(m.path("/sys/fs/cgroup/cpu.max"))
	if err != nil {
		return 0
	}
	var quota, period float64
	if n, _ := fmt.Sscanf(string(text), "%f %f", &quota, &period); n != 2 || period == 0 {
		return 0
	}
	return quota / period
}

func (m Machine) memory() Check {
	total, available := m.meminfo()
	if total == 0 {
		return Check{Name: "memory", Status: Warn, Detail: "cannot be read on this system", Fix: "set resources { memory = … } in the pipeline yourself"}
	}
	c := Check{Name: "memory", Status: OK, Detail: fmt.Sprintf("%s, %s available", view.Bytes(total), view.Bytes(available))}
	if limit := m.cgroupMemory(); limit > 0 && limit < total {
		c.Detail += ", limited to " + view.Bytes(limit) + " by the control group"
		total = limit
	}
	if total < 2*gib {
		c.Status, c.Fix = Warn, "2 GiB are needed to prepare the larger competitions; the demo works with less"
	}
	return c
}

func (m Machine) meminfo() (total, available int64) {
	f, err := os.Open(m.path("/proc/meminfo"))
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "MemTotal:":
			total = kib * 1024
		case "MemAvailable:":
			available = kib * 1024
		}
	}
	return total, available
}

func (m Machine) cgroupMemory() int64 {
	text, err := os.ReadFile(m.path("/sys/fs/cgroup/memory.max"))
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return limit
}
