package sandbox_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
)

func TestResume(t *testing.T) {
	b := newBench(t)
	b.Resume(t)
	b.empty(t)
}

func TestKilledOwners(t *testing.T) {
	b := newBench(t)
	b.KilledOwners(t, 10*time.Millisecond)
	b.Gone(t)
	b.empty(t)
}

func TestSweep(t *testing.T) {
	b := newBench(t)
	short, long, live := b.Ticks(t, 1000), b.Resumable(t, 1000), b.Resumable(t, 1000)
	short.ID, long.ID, live.ID = "short", "long", "live"
	executortest.Kill(executortest.StartOwner(t, b.Order(short), "tick"))
	executortest.Kill(executortest.StartOwner(t, b.Order(long), "tick"))
	running := executortest.StartOwner(t, b.Order(live), "tick")
	runs := func() int {
		list, _ := filepath.Glob(filepath.Join(b.opts.Dir, "runs", "*"))
		return len(list)
	}
	if err := b.e.Sweep(t.Context()); err != nil || runs() != 2 {
		t.Errorf("want the one that may be resumed and the one that is held: %d, %v", runs(), err)
	}
	if err := b.e.Purge(t.Context()); err != nil || runs() != 1 {
		t.Errorf("want the one that is held: %d, %v", runs(), err)
	}
	if images, _ := filepath.Glob(filepath.Join(b.opts.Dir, "images", "sha256-*", "root")); len(images) != 1 {
		t.Errorf("an image that is in use was removed: %v", images)
	}
	executortest.Kill(running)
	images := []string{""}
	for until := time.Now().Add(time.Minute); len(images) > 0 && time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if err := b.e.Purge(t.Context()); err != nil || runs() != 0 {
			t.Errorf("left %d runs, %v", runs(), err)
		}
		// The first process of the short one may be at its end still.
		images, _ = filepath.Glob(filepath.Join(b.opts.Dir, "images", "sha256-*", "root"))
	}
	if len(images) != 0 {
		t.Errorf("an image that nobody uses is there: %v", images)
	}
	b.Gone(t)
}
