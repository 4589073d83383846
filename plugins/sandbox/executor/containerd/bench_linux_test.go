package containerd_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
)

// BenchmarkRun runs a command that ends at once: what a run costs. The metric
// start-ms is the time from the call to the command's start.
//
//	go test ./plugins/sandbox/executor/containerd -run '^$' -bench Run -benchtime 20x
func BenchmarkRun(b *testing.B) {
	c := newBench(b)
	exit := []string{executortest.ProbeCommand, "exit", "0"}
	for _, resume := range []bool{false, true} {
		b.Run(fmt.Sprintf("containerd/resume=%v", resume), func(b *testing.B) {
			spec := executor.Spec{Image: c.Image, Command: append([]string{containerdtest.Program}, exit...), Resume: resume}
			benchmark(b, c.e, spec)
		})
	}
	b.Run("process", func(b *testing.B) {
		benchmark(b, process.New(""), executor.Spec{Command: append([]string{"/proc/self/exe"}, exit...), Dir: "/"})
	})
}

func benchmark(b *testing.B, e executor.Executor, spec executor.Spec) {
	var starting time.Duration
	for i := 0; b.Loop(); i++ {
		spec.ID = fmt.Sprint(b.Name(), i)
		began := time.Now()
		spec.OnStart = func(time.Time) { starting += time.Since(began) }
		if exit, err := e.Run(b.Context(), spec, io.Discard); err != nil || !exit.OK() {
			b.Fatalf("%+v, %v", exit, err)
		}
	}
	b.ReportMetric(float64(starting.Milliseconds())/float64(b.N), "start-ms")
}
