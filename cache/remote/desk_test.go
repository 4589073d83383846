package remote

import (
	"sync"
	"testing"

	"github.com/mleflow/mleflow/cache/disk"
)

// TestNodeFetchesOnce: workers that share the cache of a node fetch a tree once,
// all at the same moment.
func TestNodeFetchesOnce(t *testing.T) {
	address, _ := folder(t)
	maker := newMachine(t, address, quick)
	dir := sample(t, 1, 300, 3)
	rec := maker.made("tree", dir, noise(2, 1<<20))
	maker.mustPush(rec)
	refs := refsOf(rec)
	var size int64
	for _, r := range refs {
		size += r.Size
	}
	node := t.TempDir()
	var workers []*machine
	for range 4 { // each opens the folder for itself, as a process does
		c, err := disk.Open(node, disk.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		workers = append(workers, newMachineOn(t, c, address, quick))
	}
	var wait sync.WaitGroup
	for _, w := range workers {
		wait.Go(func() {
			if err := w.FetchRefs(t.Context(), refs...); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	var moved int64
	for _, w := range workers {
		for _, r := range refs {
			if _, err := w.Cache.Has(t.Context(), r.ID); err != nil {
				t.Errorf("%s: %v", r.Kind, err)
			}
		}
		moved += w.Stats().BytesIn
	}
	if moved < size || moved > size+size/10 {
		t.Errorf("%d bytes were fetched of content of %d", moved, size)
	}
}
