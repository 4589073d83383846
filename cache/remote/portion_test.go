package remote

import (
	"sync/atomic"
	"testing"

	"github.com/mleflow/mleflow/cache"
)

// TestMoved counts content when it is sent, when it is fetched, and when it was there
// already.
func TestMoved(t *testing.T) {
	address, _ := folder(t)
	a, b := newMachine(t, address, quick), newMachine(t, address, quick)
	rec := a.made("a", sample(t, 1, 300, 3), noise(9, 20<<20))
	size := Size(rec)
	a.mustPush(rec)
	if m := a.Moved(); m.Stored != size || m.Out < size || m.Fetched != 0 {
		t.Errorf("after a push of %d: %+v", size, m)
	}
	a.mustPush(rec)
	if m := a.Moved(); m.Stored != 2*size || m.Out > size+size/2 {
		t.Errorf("after another: %+v", m)
	}
	for n := range int64(2) {
		if err := b.Pull(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		if m := b.Moved(); m.Fetched != (n+1)*size || m.In < size || m.In > size+size/2 {
			t.Errorf("after pull %d: %+v", n+1, m)
		}
	}
	var asked atomic.Int64
	ref := rec.Outputs["tree"].Ref
	if err := b.FetchRefs(WithCount(t.Context(), &asked), ref); err != nil || asked.Load() != ref.Size {
		t.Errorf("%d of %d bytes, %v", asked.Load(), ref.Size, err)
	}
}

// TestBackgroundIsMoved sees that what is recorded is what will be stored.
func TestBackgroundIsMoved(t *testing.T) {
	address, _ := folder(t)
	a := newMachine(t, address, quick)
	rec := a.made("a", sample(t, 1, 30, 1), noise(9, 1000))
	if err := a.Record(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if left := a.Finish(t.Context()); left != 0 {
		t.Fatalf("%d are left", left)
	}
	if m := a.Moved(); m.Recorded != Size(rec) || m.Stored != m.Recorded {
		t.Errorf("%+v", m)
	}
}

// TestPortion is never more than its size, whatever is sent besides or again.
func TestPortion(t *testing.T) {
	var sum atomic.Int64
	ctx, counted := withPortion(t.Context(), cache.Ref{Size: 10}, &sum)
	p := portionOf(ctx)
	for _, n := range []int64{4, 4, 4, 4} {
		p.moved(n)
	}
	if counted(nil); sum.Load() != 10 {
		t.Errorf("%d of 10", sum.Load())
	}
	ctx, counted = withPortion(t.Context(), cache.Ref{Size: 10}, &sum)
	portionOf(ctx).moved(3)
	if counted(cache.ErrNotFound); sum.Load() != 13 {
		t.Errorf("%d: what failed counts as done", sum.Load())
	}
	portionOf(t.Context()).moved(1) // nobody counts
}
