package executortest

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// Work returns the work for a spec, and a function that checks the parts of the work so
// far and that each reached its total.
func Work(t testing.TB) (work *progress.Work, check func(parts ...string)) {
	var mu sync.Mutex
	var ended []progress.State
	work = &progress.Work{Ended: func(p progress.State) {
		mu.Lock()
		defer mu.Unlock()
		ended = append(ended, p)
	}}
	return work, func(parts ...string) {
		t.Helper()
		work.Begin("", 0, 0)
		mu.Lock()
		defer mu.Unlock()
		var names []string
		for _, p := range ended {
			names = append(names, p.What)
			if p.Bytes == 0 || p.Bytes != p.TotalBytes {
				t.Errorf("%s ended at %d of %d bytes", p.What, p.Bytes, p.TotalBytes)
			}
		}
		if diff := cmp.Diff(parts, names); diff != "" {
			t.Errorf("parts of the work (-want +got):\n%s", diff)
		}
	}
}
