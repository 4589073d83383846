package cachetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Cache is an index with the store that its check needs, since records name
// content.
type Cache interface {
	cache.Store
	cache.Index
}

// TestIndex checks an Index together with its Store. Each call of open gives
// an empty one.
func TestIndex(t *testing.T, open func(t *testing.T) Cache) {
	tests := []struct {
		name string
		run  func(t *testing.T, c Cache)
	}{
		{"record and look up", recordAndLookUp},
		{"unknown action", unknownAction},
		{"record again", recordAgain},
		{"record of missing content", recordMissing},
		{"caller keeps its record", callerKeeps},
		{"values", values},
		{"many at once", recordsAtOnce},
		{"each record", eachRecord},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
	}
}

// eachRecord lists the records of an index that can, until an error.
func eachRecord(t *testing.T, c Cache) {
	l, able := c.(cache.Lister)
	if !able {
		t.Skip("it does not list")
	}
	for _, name := range []string{"a", "b"} {
		if err := c.Record(t.Context(), &cache.Record{Action: action(name), Address: name}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	if err := l.Each(t.Context(), func(rec *cache.Record) error { seen[rec.Address] = true; return nil }); err != nil || !seen["a"] || !seen["b"] {
		t.Errorf("listed %v: %v", seen, err)
	}
	stop := errors.New("stop")
	if err := l.Each(t.Context(), func(*cache.Record) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopped with %v", err)
	}
}

// TestLocker checks a Locker. Each call of open gives a fresh one.
func TestLocker(t *testing.T, open func(t *testing.T) cache.Locker) {
	l := open(t)
	var inside, most, done int
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				unlock, err := l.LockAction(t.Context(), action("same"))
				if err != nil {
					t.Errorf("LockAction: %v", err)
					return
				}
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				mu.Lock()
				inside--
				done++
				mu.Unlock()
				unlock()
			}
		})
	}
	group.Wait()
	if most != 1 || done != 160 {
		t.Errorf("%d of 160 done, up to %d at once, want 1", done, most)
	}
	a, err := l.LockAction(t.Context(), action("a"))
	if err != nil {
		t.Fatalf("LockAction: %v", err)
	}
	defer a()
	b, err := l.LockAction(t.Context(), action("b"))
	if err != nil {
		t.Fatalf("LockAction of another action: %v", err)
	}
	b()
}

func action(name string) digest.ActionID { return digest.NewHasher("test", name).Sum() }

func record(name string, outputs cache.Outputs) *cache.Record {
	h := digest.NewHasher("test", "1")
	h.String("name", name)
	return &cache.Record{
		Action: action(name), Address: `step.test.it["` + name + `"]`, Kind: "test",
		Fields: h.Fields(), Outputs: outputs, Run: "run-1",
		StartedUnixMilli: 1700000000000, DurationMillis: 42,
	}
}

func wantRecord(t *testing.T, c Cache, want *cache.Record) {
	t.Helper()
	got, err := c.Lookup(t.Context(), want.Action)
	if err != nil {
		t.Fatalf("Lookup: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("record differs (-want +got):\n%s", diff)
	}
}

func recordAndLookUp(t *testing.T, c Cache) {
	ref := put(t, c, []byte("text"))
	rec := record("a", cache.Outputs{"out": {Ref: ref}})
	if err := c.Record(t.Context(), rec); err != nil {
		t.Fatalf("Record: %v", err)
	}
	wantRecord(t, c, rec)
	if _, err := c.Evicted(t.Context(), rec.Action); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Evicted: error %v, want cache.ErrNotFound", err)
	}
}

func unknownAction(t *testing.T, c Cache) {
	if rec, err := c.Lookup(t.Context(), action("a")); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Lookup = %v, %v, want cache.ErrNotFound", rec, err)
	}
	if _, err := c.Evicted(t.Context(), action("a")); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Evicted: error %v, want cache.ErrNotFound", err)
	}
}

func recordAgain(t *testing.T, c Cache) {
	one := record("a", cache.Outputs{"out": {Ref: put(t, c, []byte("one"))}})
	two := record("a", cache.Outputs{"out": {Ref: put(t, c, []byte("two"))}})
	one.Tries = cache.Tries{Provisional: "cause", Why: "a sentence", Spoilt: 1}
	two.Tries = cache.Tries{Earlier: 300, Spoilt: 2, GPU: "nvidia-h100-80gb-hbm3", SecretIn: "code submission", Begun: 7, Steered: "stopped@1h0m0s time+2h"}
	for _, rec := range []*cache.Record{one, two} {
		if err := c.Record(t.Context(), rec); err != nil {
			t.Fatalf("Record: %v", err)
		}
		wantRecord(t, c, rec)
	}
}

func recordMissing(t *testing.T, c Cache) {
	for _, kind := range []cache.Kind{cache.Blob, cache.Tree} {
		rec := record("a", cache.Outputs{"out": {Ref: cache.Ref{Kind: kind, ID: digest.Of([]byte("nobody")), Size: 6}}})
		if err := c.Record(t.Context(), rec); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("Record: error %v, want cache.ErrNotFound", err)
		}
		if _, err := c.Lookup(t.Context(), rec.Action); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("Lookup: error %v, want cache.ErrNotFound", err)
		}
	}
}

func callerKeeps(t *testing.T, c Cache) {
	rec := record("a", cache.Outputs{"n": {JSON: []byte("1")}})
	if err := c.Record(t.Context(), rec); err != nil {
		t.Fatalf("Record: %v", err)
	}
	rec.Outputs["n"] = cache.Value{JSON: []byte("2")}
	rec.Fields[0].Value = "changed"
	wantRecord(t, c, record("a", cache.Outputs{"n": {JSON: []byte("1")}}))
}

func values(t *testing.T, c Cache) {
	empty := put(t, c, nil)
	long := strings.Repeat("long\n", 100_000)
	recs := []*cache.Record{
		record("none", cache.Outputs{}),
		record("json", cache.Outputs{"a": {JSON: []byte(`{"x":[1,2,"\n"]}`)}, "b": {JSON: []byte("null")}}),
		record("mixed", cache.Outputs{"a": {Ref: empty}, "b": {JSON: []byte("1")}, "ü\n": {Ref: empty}}),
		record("long", cache.Outputs{"a": {JSON: []byte(`"` + long + `"`)}}),
		record("odd \x00\n\xff name", cache.Outputs{}),
	}
	recs[0].Fields = nil
	recs[1].StartedUnixMilli, recs[1].DurationMillis, recs[1].Run = -5, 1<<60, ""
	for _, rec := range recs {
		if err := c.Record(t.Context(), rec); err != nil {
			t.Fatalf("Record: %v", err)
		}
	}
	for _, rec := range recs {
		wantRecord(t, c, rec)
	}
}

func recordsAtOnce(t *testing.T, c Cache) {
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 50 {
				name := fmt.Sprintf("%d/%d", worker, i)
				ref, err := cache.PutBytes(t.Context(), c, []byte(name))
				if err != nil {
					t.Errorf("PutBytes: %v", err)
					return
				}
				rec := record(name, cache.Outputs{"out": {Ref: ref}})
				if err := c.Record(t.Context(), rec); err != nil {
					t.Errorf("Record: %v", err)
					return
				}
				if _, err := c.Lookup(t.Context(), rec.Action); err != nil {
					t.Errorf("Lookup: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
}
