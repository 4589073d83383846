package work

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/remote/s3test"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// TestFaultyRemote has three workers for each of several actions work on a store
// that loses requests and answers, answers wrongly or is too busy. Every action
// has one result, and no two workers were at one at a time.
func TestFaultyRemote(t *testing.T) {
	s := s3test.Start(t)
	proxy := s3test.StartProxy(t, s.Addr, 1)
	at := s3test.Address(proxy.Addr, "work")
	proxy.Set(0.1, s3test.ResetRequest, s3test.LoseAnswer, s3test.LosePut, s3test.ResetAnswer, s3test.Truncate, s3test.Flip, s3test.Busy, s3test.Internal, s3test.Slow)
	var all sync.WaitGroup
	for i := range 4 {
		l := &lab{version: "1", work: func(ctx context.Context, _ *step.Env) error {
			_ = progress.Sleep(ctx, 100*time.Millisecond)
			return nil
		}}
		b := newBench(t, l, at, fmt.Sprintf("paint %d", i))
		var task *Task
		waitFor(t, func() (ok bool) {
			var err error
			task, _, err = Place(t.Context(), b.tier, Placement{Order: b.order, Refs: b.args.Refs(), Emit: func(event.Event) {}})
			return err == nil
		})
		b.placed = task.Order()
		for n := range 3 {
			w := l.worker(t, at, fmt.Sprintf("n%d", n))
			w.Interval = 5 * time.Second // a fault delays a renewal by up to three seconds
			all.Go(func() {
				if err := w.Run(t.Context(), b.id(), b.placed); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			var r *Result
			waitFor(t, func() bool {
				r, _ = task.Poll(t.Context(), Working, func(event.Event) {})
				return r != nil
			})
			if r.Record == nil || l.most.Load() != 1 {
				t.Errorf("%d at a time: %+v", l.most.Load(), r)
			}
		})
	}
	all.Wait()
	faults, requests := proxy.Made()
	t.Logf("%d faults in %d requests", faults, requests)
	if faults == 0 {
		t.Error("no faults")
	}
}
