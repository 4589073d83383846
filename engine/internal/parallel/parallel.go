// Package parallel distributes independent work over the processors.
package parallel

import (
	"runtime"

	"github.com/mleflow/mleflow/cache/leaf/parallel"
)

// chunk is the number of calls that a worker takes at a time. It is large
// enough to make taking cheap, and small enough for the workers to finish
// together.
const chunk = 64

// For calls do(0) … do(n-1) concurrently and returns when all calls have
// returned. For at most one chunk, it calls them in place.
func For(n int, do func(i int)) {
	parallel.Do((n+chunk-1)/chunk, runtime.GOMAXPROCS(0), func(c int) {
		for i := c * chunk; i < min(c*chunk+chunk, n); i++ {
			do(i)
		}
	})
}
