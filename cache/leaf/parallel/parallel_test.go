package parallel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestDo(t *testing.T) {
	for _, tt := range []struct {
		n, atOnce int
		took      time.Duration
	}{{0, 4, 0}, {1, 4, time.Second}, {3, 0, 3 * time.Second}, {3, 1, 3 * time.Second}, {10, 4, 3 * time.Second}, {4, 10, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			calls := make([]int, tt.n)
			var now, most atomic.Int64
			Do(tt.n, tt.atOnce, func(i int) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				calls[i]++
			})
			if took := time.Since(start); took != tt.took || most.Load() > int64(max(tt.atOnce, 1)) {
				t.Errorf("%d, %d at once: %v, %d at once", tt.n, tt.atOnce, took, most.Load())
			}
			for i, n := range calls {
				if n != 1 {
					t.Errorf("%d of %d: %d calls", i, tt.n, n)
				}
			}
		})
	}
}
