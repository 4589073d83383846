// Package parallel distributes independent work over the processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunk is how many calls a worker takes at a time: enough to make taking
// cheap, few enough for the workers to finish at the same time.
const chunk = 64

// For calls do(0) … do(n-1), several at a time, and returns when all have
// returned. Up to one chunk, it calls them in place.
func For(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				from := int(next.Add(chunk)) - chunk
				if from >= n {
					return
				}
				for i := from; i < min(from+chunk, n); i++ {
					do(i)
				}
			}
		})
	}
	wg.Wait()
}
