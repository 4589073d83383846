package remote

import (
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// TestProvisional: a result that is not final stays where it was made, and does not hide
// a final one that the remote gets.
func TestProvisional(t *testing.T) {
	address, _ := folder(t)
	a, b := newMachine(t, address, quick), newMachine(t, address, quick)
	rec := a.recordOf("a", cache.Outputs{"out": {Ref: a.putBlob([]byte("half"))}})
	rec.Tries = cache.Tries{Provisional: "cause", Why: "why"}
	if err := a.Record(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if left := a.Finish(t.Context()); left != 0 {
		t.Fatalf("%d left", left)
	}
	ids := []digest.ActionID{rec.Action}
	if got := b.Find(t.Context(), ids)[0]; got != nil {
		t.Errorf("the remote has %+v", got)
	}
	if got := a.Find(t.Context(), ids)[0]; got == nil || got.Final() != nil {
		t.Errorf("found %+v where it was made", got)
	}
	whole := b.recordOf("a", cache.Outputs{"out": {Ref: b.putBlob([]byte("whole"))}})
	b.mustPush(whole)
	if got := a.Find(t.Context(), ids)[0]; got.Final() == nil {
		t.Fatalf("found %+v, not what the remote has", got)
	}
	a.Fetch(t.Context(), []*cache.Record{whole})
	if got, err := a.disk.Lookup(t.Context(), rec.Action); err != nil || got.Final() == nil {
		t.Errorf("fetched %+v, %v", got, err)
	}
}
