package work

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine/event"
)

// TestLostWorkersRecordCounts: a worker stored its record and was killed before it wrote
// its answer. Nobody asks for another worker's answer once it is known to be lost.
func TestLostWorkersRecordCounts(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	b := newBench(t, l, at, "paint")
	task := b.place(false)
	if err := l.worker(t, at, "n1").Run(t.Context(), b.id()); err != nil {
		t.Fatal(err)
	}
	if err := b.tier.Desk().Remove(t.Context(), remote.WorkName(b.id(), resultDocument)); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if r, err := task.Poll(t.Context(), Working, func(event.Event) {}); r != nil || err != nil {
			t.Fatalf("%+v, %v while the worker may be about to answer", r, err)
		}
	}
	if r, err := task.Poll(t.Context(), Lost, func(event.Event) {}); err != nil || r == nil || r.Record == nil || !r.Found {
		t.Errorf("%+v, %v", r, err)
	}
	if task.Heard() != 1 {
		t.Errorf("the events are those of worker %d", task.Heard())
	}
}

// TestGiveUp: the claim of a worker that was seen to end is given up, and the next one
// starts at once; that of a worker elsewhere is not.
func TestGiveUp(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	b := newBench(t, l, at, "paint")
	data, err := json.Marshal(claimDocument{Worker: "dead", Node: "n1", IntervalMillis: time.Hour.Milliseconds()})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.tier.Desk().Create(t.Context(), claimName(b.id(), 1), data); err != nil {
		t.Fatal(err)
	}
	task := b.place(false)
	for _, node := range []string{"n2", "n1"} {
		if err := task.GiveUp(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		if doc, _, err := readClaim(t.Context(), b.tier.Desk(), b.id(), 1); err != nil || doc == nil || doc.Ended != (node == doc.Node) {
			t.Errorf("after a worker on %s ended: %+v, %v", node, doc, err)
		}
	}
	if err := l.worker(t, at, "n2").Run(t.Context(), b.id()); err != nil {
		t.Fatal(err)
	}
	if r := b.wait(task); r.Node != "n2" || r.Record == nil {
		t.Errorf("%+v", r)
	}
}

// TestFullCacheIsRefused: a node whose cache cannot hold the inputs says so at once.
func TestFullCacheIsRefused(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	b := newBench(t, l, at, "paint")
	task := b.place(false)
	loc, err := remote.ParseLocation(at)
	if err != nil {
		t.Fatal(err)
	}
	c, err := disk.Open(t.TempDir(), disk.Options{Quota: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := l.worker(t, at, "n1")
	w.Cache = remote.New(c, loc, remote.Options{})
	defer w.Cache.Close()
	start := time.Now()
	if err := w.Run(t.Context(), b.id()); !IsRefusal(err) {
		t.Fatalf("%v, want a refusal", err)
	}
	if r := b.wait(task); !IsRefusal(r.Err()) || !strings.Contains(r.Refused, "the cache of node n1") || !strings.Contains(r.Refused, "cache_quota") {
		t.Errorf("%+v", r)
	}
	if n, took := l.runs.Load(), time.Since(start); n > 0 || took > 20*time.Second {
		t.Errorf("it ran %d times and took %s", n, took)
	}
}
