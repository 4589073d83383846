package sandbox_test

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
)

// BenchmarkRun runs a command that ends at once, one and fifty at a time, in each
// runtime that this user has. The metrics are the minimum and the median of a run from
// the call to its end, or for fifty, of all of them together, and how many times the
// minimum of a process that is.
//
//	go test ./plugins/sandbox/executor/sandbox -run '^$' -bench Run -benchtime 20x
func BenchmarkRun(b *testing.B) {
	s := newBench(b)
	exit := []string{executortest.ProbeCommand, "exit", "0"}
	inside := executor.Spec{Image: s.Image, Command: append([]string{containerdtest.Program}, exit...), Dir: "/"}
	type runtime struct {
		name string
		e    executor.Executor
		spec executor.Spec
	}
	list := []runtime{
		{"process", process.New(""), executor.Spec{Command: append([]string{"/proc/self/exe"}, exit...), Dir: "/"}},
		{"sandbox", s.e, inside},
	}
	if os.Geteuid() == 0 {
		c := containerd.New(containerdtest.Start(b).Options)
		defer c.Close()
		list = append(list, runtime{"containerd", c, inside})
	}
	for _, count := range []int{1, 50} {
		var process float64
		for _, r := range list {
			b.Run(fmt.Sprintf("%s/%d", r.name, count), func(b *testing.B) {
				least := benchmark(b, r.e, r.spec, count)
				if r.name == "process" {
					process = least
				} else if process > 0 {
					b.ReportMetric(least/process, "times-process")
				}
			})
		}
	}
}

func benchmark(b *testing.B, e executor.Executor, spec executor.Spec, count int) (least float64) {
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		var all sync.WaitGroup
		for k := range count {
			all.Go(func() {
				one := spec
				one.ID = fmt.Sprint(b.Name(), i, k)
				if exit, err := e.Run(b.Context(), one, io.Discard); err != nil || !exit.OK() {
					b.Errorf("%+v, %v", exit, err)
				}
			})
		}
		all.Wait()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	least = float64(took[0].Microseconds()) / 1000
	b.ReportMetric(least, "min-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	return least
}
