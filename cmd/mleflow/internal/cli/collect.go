package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// firstCollection is how much is allocated before garbage is collected for the
// first time. Most commands end before; Go would collect at 4 MiB.
const firstCollection = 32 << 20

// collectLate puts the first garbage collection off. After it, the heap grows as it
// would have.
func collectLate() {
	if os.Getenv("GOGC") == "" {
		afterCollection(debug.SetGCPercent(100 * firstCollection / (4 << 20)))
	}
}

// afterCollection sets the percentage after the next collection, unless that one
// began before the program did.
func afterCollection(percent int) {
	type sentinel struct{ _ *int } // with a pointer, so that it has its place for itself
	runtime.AddCleanup(&sentinel{}, func(percent int) {
		allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(allocated)
		if allocated[0].Value.Uint64() < firstCollection/2 {
			afterCollection(percent)
			return
		}
		debug.SetGCPercent(percent)
	}, percent)
}
