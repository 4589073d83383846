package work

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// reportMoved reports progress once a second while the content of refs is fetched
// or stored in the returned context. The caller ends it with the returned
// function, which reports completion if there was no error.
func reportMoved(ctx context.Context, address, what string, refs []cache.Ref, emit func(event.Event)) (context.Context, func(error)) {
	var total int64
	for _, ref := range refs {
		total += ref.Size
	}
	if total == 0 {
		return ctx, func(error) {}
	}
	moved := new(atomic.Int64)
	tell := func() {
		emit(event.StepProgress{At: event.Now(), Address: address, Progress: step.Progress{What: what, Done: min(total, moved.Load()), Total: total, Unit: "bytes"}})
	}
	stop := progress.Every(time.Second, tell)
	return remote.WithCount(ctx, moved), func(err error) {
		stop()
		if err == nil {
			tell()
		}
	}
}
