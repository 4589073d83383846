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
	if err := l.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed); err != nil {
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
	if err := l.worker(t, at, "n2").Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	if r := b.wait(task); r.Node != "n2" || r.Record == nil {
		t.Errorf("%+v", r)
	}
}

// TestDeadHolder: a worker does not wait for the claim of a process of its own machine
// that has ended, but for that of any other.
func TestDeadHolder(t *testing.T) {
	for _, c := range []struct {
		node, process string
		dead          bool
	}{{"n1", "p", true}, {"n1", "", false}, {"n2", "p", false}, {"n1", "q", false}} {
		w := &waiter{Worker: &Worker{Node: "n1", Dead: func(name string) bool { return name == "p" }}}
		if got := w.dead(&claimDocument{Node: c.node, Process: c.process}); got != c.dead {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestStray: what a lost worker left is of no use once another node has the action or the
// action has its result.
func TestStray(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	b := newBench(t, l, at, "paint")
	want := func(part string) {
		t.Helper()
		why, err := Stray(t.Context(), b.tier, b.id(), "n1")
		if err != nil || !strings.Contains(why, part) || (part == "") != (why == "") {
			t.Errorf("%q, %v, want %q", why, err, part)
		}
	}
	claim := func(generation int, node string) {
		t.Helper()
		data, _ := json.Marshal(claimDocument{Worker: node, Node: node, IntervalMillis: 1})
		if err := b.tier.Desk().Create(t.Context(), claimName(b.id(), generation), data); err != nil {
			t.Fatal(err)
		}
	}
	want("") // unknown here
	b.place(false)
	want("")
	claim(1, "n1")
	want("")
	claim(2, "n2")
	want("node n2 has its step")
	if err := l.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	want("its step has a result")
	if err := Clear(t.Context(), b.tier.Desk(), b.id()); err != nil {
		t.Fatal(err)
	}
	want("its step has a result")
}

// TestOtherVersion: a worker of another version whose key is the same runs the order, and
// says so.
func TestOtherVersion(t *testing.T) {
	l, at := &lab{version: "1"}, folder(t)
	b := newBench(t, l, at, "paint")
	task := b.place(false)
	w := l.worker(t, at, "n1")
	w.Version = "2.0"
	if err := w.Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	if r := b.wait(task); r.Record == nil {
		t.Errorf("%+v", r)
	}
	var warned string
	for _, e := range b.seen {
		if e, ok := e.(event.Warning); ok {
			warned += e.Message
		}
	}
	if !strings.Contains(warned, "node n1: the worker is mleflow 2.0, and mleflow 1.0 ordered") {
		t.Errorf("warned %q", warned)
	}
}

// TestFullCacheFails: a node whose cache cannot hold the inputs says so at once.
func TestFullCacheFails(t *testing.T) {
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
	if err := w.Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	if r := b.wait(task); !r.Retryable || !strings.Contains(r.Error, "the cache of node n1") || !strings.Contains(r.Error, "cache_quota") {
		t.Errorf("%+v", r)
	}
	if n, took := l.runs.Load(), time.Since(start); n > 0 || took > 20*time.Second {
		t.Errorf("it ran %d times and took %s", n, took)
	}
}
