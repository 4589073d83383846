package ui

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/ui/browsertest"
	"github.com/mleflow/mleflow/engine/event"
)

// TestSize measures the first paint and the memory of the server with 10,000 runs
// and with a run of 10,000 steps, for BENCHMARKS.md. MLEFLOW_UI_SIZE=1 runs it.
func TestSize(t *testing.T) {
	if os.Getenv("MLEFLOW_UI_SIZE") == "" {
		t.Skip("MLEFLOW_UI_SIZE=1 measures; it takes minutes")
	}
	b := browsertest.Open(t)
	l := newLab(t)
	a := usual("a", "0", "x")
	for i := range 10_000 {
		r := l.write("many.hcl", l.start.Add(time.Duration(i)*time.Minute), []attempt{a})
		r.Emit(event.RunFinished{At: event.At{Time: l.start}, Run: r.ID(), Status: event.Ran, DurationMillis: 1})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var many []attempt
	for i := range 5000 {
		one := attempt{agent: "a", seed: fmt.Sprint(i), competition: "demo-digits", score: 0.5, curve: "[]", message: "x"}
		many = append(many, one)
	}
	big := l.write("big.hcl", time.Now(), many)
	for i := range 300 {
		l.finish(big, i, many[i])
	}
	for i := 300; i < 5000; i++ {
		for kind, name := range map[string]string{"agent-run": "solve", "grade": "score"} {
			address := fmt.Sprintf("step.%s.%s[%q]", kind, name, fmt.Sprintf("a/demo-digits/%d", i))
			big.Emit(event.StepFinished{At: event.At{Time: time.Now()}, Address: address, Kind: kind, Status: event.Ran, DurationMillis: 100, Outputs: map[string]string{"outcome": `"finished"`}})
		}
	}
	l.close(big, 10_000)
	runtime.GC()
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	open := func(name, address string) {
		began := time.Now()
		tab.Go(address)
		paint := tab.Run(`new Promise(done => { const get = () => { const p = performance.getEntriesByName('first-contentful-paint')[0]; p ? done(Math.round(p.startTime)) : requestAnimationFrame(get); }; get(); })`)
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		t.Logf("%s: first paint %s ms, loaded %d ms, heap of the server %.1f MiB (%.1f before)", name, paint, time.Since(began).Milliseconds(), float64(now.HeapAlloc)/(1<<20), float64(before.HeapAlloc)/(1<<20))
	}
	open("10,000 runs, cold", first)
	open("10,000 runs, warm", base+"/runs")
	open("10,000 runs, searched, cold", base+"/runs?q=many+20260305")
	open("10,000 runs, searched, warm", base+"/runs?q=many+20260305")
	open("a run of 10,000 steps, cold", base+runAddress(big.ID()))
	open("a run of 10,000 steps, warm", base+runAddress(big.ID()))
	open("its steps", base+runAddress(big.ID())+"/steps")
	open("its 5,000 attempts", base+runAddress(big.ID())+"/attempts")
	l.get("/agents")
	began := time.Now()
	l.indexed()
	t.Logf("all results indexed after %s", time.Since(began).Round(time.Millisecond))
	open("agents", base+"/agents")
}
