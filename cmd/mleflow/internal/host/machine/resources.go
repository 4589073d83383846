package machine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/sched"
)

const gib = 1 << 30

// scheduled is how the scheduler looks at the machine: what is shown is what
// steps can lease.
func (m Machine) scheduled() sched.Probe { return sched.NewProbe(m.Root) }

func (m Machine) processors() Check {
	n := runtime.NumCPU()
	c := Check{Name: "processors", Status: OK, Detail: fmt.Sprintf("%d usable", n)}
	if limit := m.scheduled().Capacity().CPUs; limit > 0 && limit < float64(n) {
		c.Detail += fmt.Sprintf(", limited to %g by the control group or GOMAXPROCS", limit)
	}
	return c
}

func (m Machine) memory() Check {
	total, limit := m.scheduled().Unlimited().MemoryBytes, m.scheduled().Capacity().MemoryBytes
	if limit == 0 {
		return Check{Name: "memory", Status: Warn, Detail: "cannot be read on this system", Fix: "set resources { memory = … } in the pipeline yourself"}
	}
	c := Check{Name: "memory", Status: OK, Detail: view.Bytes(max(total, limit))}
	if available := m.availableMemory(); available > 0 {
		c.Detail += ", " + view.Bytes(available) + " available"
	}
	if limit < total {
		c.Detail += ", limited to " + view.Bytes(limit) + " by the control group"
	}
	if limit < 2*gib {
		c.Status, c.Fix = Warn, "2 GiB are needed to prepare the larger competitions; the demo works with less"
	}
	return c
}

// availableMemory is what new processes can take now, 0 where that cannot be
// read. The scheduler does not look at it.
func (m Machine) availableMemory() int64 {
	text, err := os.ReadFile(m.path("/proc/meminfo"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemAvailable:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
