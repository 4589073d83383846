package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
)

// TestEndsAtOnce runs commands that may be resumed and that end before they have been
// written down, on a machine that is busy with their like.
func TestEndsAtOnce(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	for i := range 48 {
		wg.Go(func() {
			spec := executor.Spec{ID: fmt.Sprint("quick ", i), Image: b.Image, Command: []string{containerdtest.Program}, Dir: "/", Resume: true}
			exit, err := b.e.Run(context.Background(), spec, io.Discard)
			if err != nil || exit.Reason != executor.Exited {
				t.Errorf("%+v, %v", exit, err)
			}
		})
	}
	wg.Wait()
}
