// Package parallel does independent work at the same time. It is a leaf package: it
// imports only the standard library.
package parallel

import (
	"sync"
	"sync/atomic"
)

// Do calls do(0) … do(n-1), as many as atOnce at the same time, and returns when all
// calls have returned. Without others at the same time it calls them in place.
func Do(n, atOnce int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	if min(n, atOnce) <= 1 {
		work()
		return
	}
	var all sync.WaitGroup
	for range min(n, atOnce) {
		all.Go(work)
	}
	all.Wait()
}
