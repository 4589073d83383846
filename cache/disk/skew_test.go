package disk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk/index"
)

// recordedAhead records results of 1000 bytes by a clock that is a day ahead,
// and sets it right.
func recordedAhead(t *testing.T, dir string, clk *clock, names ...string) {
	t.Helper()
	clk.seconds.Add(86400)
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		for _, name := range names {
			record(t, c, name, putText(t, c, fmt.Sprintf("%-1000s", name)))
			clk.step()
		}
	})
	clk.seconds.Add(-86400)
}

// After the clock was set back, objects are from the future: they are garbage
// or evicted as any others, no more of them than need be.
func TestGCAfterTheClockWasSetBack(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	recordedAhead(t, dir, clk, "0", "1", "2", "3", "4")
	clk.seconds.Add(86400)
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) { putText(t, c, "garbage of tomorrow") })
	clk.seconds.Add(-86400)
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		dry, err := c.GC(t.Context(), GCOptions{MaxSize: 3000, DryRun: true})
		must(t, err)
		res, err := c.GC(t.Context(), GCOptions{MaxSize: 3000})
		must(t, err)
		if diff := cmp.Diff(dry, res); diff != "" {
			t.Errorf("the dry run told something else (-dry +real):\n%s", diff)
		}
		if len(res.Evicted) != 2 || res.BytesLeft != 3000 || res.Kept != "" {
			t.Errorf("got %+v", res)
		}
		for i, want := range []bool{false, false, true, true, true} {
			if got := has(t, c, fmt.Sprint(i)); got != want {
				t.Errorf("record %d is there: %v", i, got)
			}
		}
		wantVerified(t, c)
		wantCounted(t, c)
	})
}

// What is published while garbage is collected is kept, by whatever clock: its
// record was written when the marks were done.
func TestGCKeepsWhatIsPublishedAhead(t *testing.T) {
	dir, clk, other := t.TempDir(), &clock{}, &clock{}
	recordedAhead(t, dir, clk, "0")
	other.seconds.Add(90_000)
	hooks := clk.hooks()
	hooks.at = func(point string) {
		if point == "recount" {
			session(t, dir, Options{}, other.hooks(), func(c *Cache) { record(t, c, "new", putText(t, c, "new")) })
		}
	}
	session(t, dir, Options{}, hooks, func(c *Cache) {
		_, err := c.GC(t.Context(), GCOptions{})
		must(t, err)
		if !has(t, c, "new") || !has(t, c, "0") {
			t.Error("a record lost its content")
		}
		wantVerified(t, c)
	})
}

// Nothing is evicted where that frees nothing, and the result says why the
// size was not reached.
func TestGCEvictsNothingInVain(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		record(t, c, "old", putText(t, c, fmt.Sprintf("%-1000s", "old")))
	})
	clk.step()
	// Found present by a live process, and published in the collection's second.
	worker := openTest(t, dir, Options{}, clk.hooks())
	held := putText(t, worker, fmt.Sprintf("%-1000s", "old"))
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		young := putText(t, c, fmt.Sprintf("%-1000s", "young"))
		record(t, c, "young", young)
		record(t, c, "both", young)
		for _, dry := range []bool{true, false} {
			res, err := c.GC(t.Context(), GCOptions{MaxSize: 1, DryRun: dry})
			must(t, err)
			if len(res.Evicted) != 0 || res.Bytes != 0 || !strings.Contains(res.Kept, "in use or too new") {
				t.Errorf("dry %v: got %+v", dry, res)
			}
		}
		for _, name := range []string{"old", "young", "both"} {
			if !has(t, c, name) {
				t.Errorf("record %s was evicted for nothing", name)
			}
		}
	})
	must(t, closure(t, worker, held))
}

// What cannot be made again goes last, however long ago it was used.
func TestGCEvictsWhatCannotBeMadeAgainLast(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	o := Options{Last: []string{"agent-run"}}
	session(t, dir, o, clk.hooks(), func(c *Cache) {
		for i := range 6 {
			rec := recordOf(fmt.Sprint(i), putText(t, c, fmt.Sprintf("%-1000d", i)))
			if i < 3 {
				rec.Kind = "agent-run"
			}
			must(t, c.Record(t.Context(), rec))
			clk.step()
		}
	})
	clk.seconds.Add(4000)
	session(t, dir, o, clk.hooks(), func(c *Cache) {
		for _, tt := range []struct {
			size int64
			left string
		}{{4000, "0125"}, {3000, "012"}, {2000, "12"}} {
			_, err := c.GC(t.Context(), GCOptions{MaxSize: tt.size})
			must(t, err)
			left := ""
			must(t, c.records.eachRecord(t.Context(), func(rec *cache.Record, _ index.Entry) error {
				for i := range 6 {
					if rec.Action == actionOf(fmt.Sprint(i)) {
						left += fmt.Sprint(i)
					}
				}
				return nil
			}))
			if len(left) != len(tt.left) || strings.Trim(left, tt.left) != "" {
				t.Errorf("of %d bytes %s are left, want %s", tt.size, left, tt.left)
			}
		}
	})
}
