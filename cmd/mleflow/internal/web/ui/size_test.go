package ui

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
	"github.com/mleflow/mleflow/engine/event"
)

// TestSize prints the first paint and the memory of the server with as many runs as
// MLEFLOW_UI_SIZE says, and with a run of as many steps, as a benchmark does.
func TestSize(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("MLEFLOW_UI_SIZE"))
	if err != nil || n < 600 {
		t.Skip("MLEFLOW_UI_SIZE=10000 measures; it takes minutes")
	}
	b := browsertest.Open(t)
	l := newLab(t)
	a := usual("a", "0", "x")
	for i := range n {
		r := l.write("many.hcl", l.start.Add(time.Duration(i)*time.Minute), []attempt{a})
		r.Emit(event.RunFinished{At: event.At{Time: l.start}, Run: r.ID(), Status: event.Ran, DurationMillis: 1})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var many []attempt
	for i := range n / 2 {
		one := attempt{agent: "a", seed: fmt.Sprint(i), competition: "demo-digits", score: 0.5, curve: "[]", message: "x"}
		many = append(many, one)
	}
	big := l.write("big.hcl", time.Now(), many)
	for i := range 300 {
		l.finish(big, i, many[i])
	}
	for i := 300; i < n/2; i++ {
		for kind, name := range map[string]string{"agent-run": "solve", "grade": "score"} {
			address := fmt.Sprintf("step.%s.%s[%q]", kind, name, fmt.Sprintf("a/demo-digits/%d", i))
			big.Emit(event.StepFinished{At: event.At{Time: time.Now()}, Address: address, Kind: kind, Status: event.Ran, DurationMillis: 100, Outputs: map[string]string{"outcome": `"finished"`}})
		}
	}
	l.close(big, n)
	runtime.GC()
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	open := func(name, address string) {
		tab.Go(address)
		paint := tab.Run(paint)
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		fmt.Printf("BenchmarkSize/%s\t%d\t%s ms-paint\t%.4g MiB-heap\n", name, n, paint, float64(now.HeapAlloc)/(1<<20))
	}
	open("runs", first)
	open("runs/again", base+"/runs")
	open("searched", base+"/runs?q=many+20260305")
	open("searched/again", base+"/runs?q=many+20260305")
	open("run", base+runAddress(big.ID()))
	open("run/again", base+runAddress(big.ID()))
	open("steps", base+runAddress(big.ID())+"/steps")
	open("attempts", base+runAddress(big.ID())+"/attempts")
	l.get("/agents")
	began := time.Now()
	l.indexed()
	fmt.Printf("BenchmarkSize/indexed\t%d\t%d ms-paint\n", n, time.Since(began).Milliseconds())
	open("agents", base+"/agents")
}
