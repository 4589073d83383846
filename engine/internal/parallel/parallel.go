// Package parallel distributes independent work over the processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunk is the number of calls that a worker takes at a time. It is large
// enough to make taking cheap, and small enough for the workers to finish
// together.
const chunk = 64

// For calls do(0) … do(n-1) concurrently and returns when all calls have
// returned. For at most one chunk, it calls them in place.
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
