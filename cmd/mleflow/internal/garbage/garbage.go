// Package garbage says when garbage is collected, unless GOGC does.
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// first is how large the heap grows before the first collection; Go would collect
// at 4 MiB. Most commands end before, a no-op apply of some 1,000 steps too.
const first = 48 << 20

// usual is the percentage that Go starts with.
const usual = 100

// spare is how much the heap grows at most between collections where Grow makes
// them rarer, unless that is less than half of what is in use.
const spare = 352 << 20

var (
	mu sync.Mutex
	// late says that the first collection is put off.
	late bool
	// percent is what the heap grows by between collections, after the first.
	percent = usual
	// applied is the percentage that was set last, after the first collection.
	applied int
)

// Start puts off the first collection. It must be the first thing that a program does.
func Start() {
	if limitSet() {
		return
	}
	late = true
	debug.SetGCPercent(usual * first / (4 << 20))
	watch()
}

// watch sets the percentage again after each collection.
func watch() {
	type sentinel struct{ _ *int } // with a pointer, so that it has its place for itself
	// A finalizer runs as soon as the sentinel is swept, which is among the first.
	// A cleanup runs only when all is swept, seconds later while all processors are busy.
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		Usual()
		mu.Lock()
		defer mu.Unlock()
		apply()
		watch()
	})
}

func limitSet() bool { return os.Getenv("GOGC") != "" }

// Usual ends the putting off of the first collection.
func Usual() {
	mu.Lock()
	defer mu.Unlock()
	if late {
		late = false
		apply()
	}
}

// apply sets the percentage, less of it if the heap is large. The caller holds mu.
func apply() {
	to := percent
	if to > usual {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		to = max(usual/2, min(to, int(100*spare/max(1, live[0].Value.Uint64()))))
	}
	if to != applied {
		applied = to
		debug.SetGCPercent(to)
	}
}

// Grow lets the heap grow by a percentage of what is in use before garbage is
// collected again, from the first collection on. It returns what restores the
// percentage before.
func Grow(by int) (restore func()) {
	if limitSet() {
		return func() {}
	}
	old := set(by)
	return func() { set(old) }
}

func set(to int) (old int) {
	mu.Lock()
	defer mu.Unlock()
	old, percent = percent, to
	if !late {
		apply()
	}
	return old
}
