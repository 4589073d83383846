package agentrun

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
)

const (
	// gpuEvery is the interval at which the driver is asked what GPUs do, and gpuPatience
	// how long it may take to answer.
	gpuEvery    = 15 * time.Second
	gpuPatience = 5 * time.Second
)

// gpus measures the GPUs that an attempt leases. Its zero value measures nothing.
type gpus struct {
	// program is nvidia-smi, "" without one; ids are the driver's names of the GPUs.
	program string
	ids     []string
	asking  atomic.Bool
	asked   time.Time
}

// gpusOf returns what measures the devices among the given ones that NVIDIA's driver knows.
// Slices of a GPU are not among them: the driver does not say how busy they are.
func gpusOf(devices []string) *gpus {
	g := &gpus{}
	for _, d := range devices {
		if id, ok := strings.CutPrefix(d, "nvidia.com/gpu="); ok && !strings.Contains(id, ":") {
			g.ids = append(g.ids, id)
		}
	}
	if len(g.ids) > 0 {
		g.program, _ = checkout.Program("nvidia-smi")
	}
	return g
}

// measure tells, now and then, the mean use of the GPUs in percent and the memory that is
// in use on all of them. It does not wait for the driver.
func (g *gpus) measure(tell func(percent, bytes int64)) {
	if g.program == "" || time.Since(g.asked) < gpuEvery || !g.asking.CompareAndSwap(false, true) {
		return
	}
	g.asked = time.Now()
	go func() {
		defer g.asking.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), gpuPatience)
		defer cancel()
		out, err := exec.CommandContext(ctx, g.program, "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits", "--id="+strings.Join(g.ids, ",")).Output()
		if percent, bytes, ok := gpuUse(string(out)); err == nil && ok {
			tell(percent, bytes)
		}
	}()
}

// gpuUse reads lines such as "37, 1024": percent and MiB of a GPU.
func gpuUse(text string) (percent, bytes int64, ok bool) {
	n := int64(0)
	for line := range strings.Lines(text) {
		busy, held, _ := strings.Cut(strings.TrimSpace(line), ",")
		p, err := strconv.ParseInt(strings.TrimSpace(busy), 10, 64)
		m, err2 := strconv.ParseInt(strings.TrimSpace(held), 10, 64)
		if err != nil || err2 != nil || p < 0 || p > 100 || m < 0 || m > 1<<30 {
			return 0, 0, false
		}
		n, percent, bytes = n+1, percent+p, bytes+m<<20
	}
	if n == 0 {
		return 0, 0, false
	}
	return percent / n, bytes, true
}
