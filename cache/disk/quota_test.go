package disk

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

func TestQuotaEvicts(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	const size, quota = 10_000, 105_000
	for i := range 30 {
		session(t, dir, Options{Quota: quota}, clk.hooks(), func(c *Cache) {
			record(t, c, fmt.Sprint(i), putText(t, c, fmt.Sprintf("%0*d", size, i)))
			info, err := c.Info(t.Context())
			must(t, err)
			if info.Bytes > quota {
				t.Errorf("%d bytes, over the quota", info.Bytes)
			}
			wantCounted(t, c)
		})
		clk.step()
	}
	session(t, dir, Options{Quota: quota}, clk.hooks(), func(c *Cache) {
		if has(t, c, "0") || has(t, c, "19") || !has(t, c, "29") || !has(t, c, "22") {
			t.Error("not the least recently used records were evicted")
		}
		tomb, err := c.Evicted(t.Context(), actionOf("0"))
		if err != nil || tomb.Reason != "quota" {
			t.Errorf("tombstone %+v, %v", tomb, err)
		}
		wantVerified(t, c)
	})
}

func TestQuotaFails(t *testing.T) {
	for _, key := range []string{"", "key"} {
		t.Run("key "+key, func(t *testing.T) {
			dir, clk := t.TempDir(), &clock{}
			var pinned cache.Ref
			session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
				pinned = putText(t, c, strings.Repeat("p", 50_000))
				record(t, c, "pinned", pinned)
				record(t, c, "old", putText(t, c, strings.Repeat("o", 30_000)))
				must(t, c.Pin(t.Context(), Pin{Name: "p", Actions: []digest.ActionID{actionOf("pinned")}}))
			})
			clk.step()
			session(t, dir, Options{Quota: 100_000}, clk.hooks(), func(c *Cache) {
				err := ingestAll(t, c, key, make([]byte, 120_000))
				wantErr(t, err, cache.ErrQuota)
				if has(t, c, "old") {
					t.Error("an unused record was not evicted before the quota failed")
				}
				must(t, closure(t, c, pinned))
				if key != "" {
					in, err := c.Ingest(t.Context(), key)
					must(t, err)
					must(t, in.Reset())
					must(t, in.Close())
				}
				wantCounted(t, c)
				// What fits still goes in.
				putText(t, c, strings.Repeat("x", 40_000))
				wantVerified(t, c)
				wantCounted(t, c)
			})
		})
	}
}

// Content that is there already needs no space.
func TestQuotaCountsOnce(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{Quota: 100_000}, hooks{unnamed: true})
	data := make([]byte, 60_000)
	for range 5 {
		if _, err := cache.PutBytes(t.Context(), c, data); err != nil {
			t.Fatal(err)
		}
	}
	wantCounted(t, c)
}

// The executable twin of an object counts, too; where there is no space for it,
// the file is a copy.
func TestQuotaCountsTwins(t *testing.T) {
	for quota, want := range map[int64]cache.Placed{100_000: cache.Linked, 70_000: cache.Copied} {
		c := openTest(t, t.TempDir(), Options{Quota: quota}, hooks{unnamed: true})
		ref := putText(t, c, strings.Repeat("x", 40_000))
		for i, want := range []cache.Placed{want, want} {
			how, err := c.Place(t.Context(), ref, fmt.Sprintf("%s/f%d", t.TempDir(), i), cache.Placement{Executable: true})
			must(t, err)
			if how == cache.Cloned {
				how = cache.Copied
			}
			if how != want {
				t.Errorf("quota %d: placed as %v, want %v", quota, how, want)
			}
		}
		if used := c.state.used.Load(); used > quota {
			t.Errorf("%d bytes are used of %d", used, quota)
		}
		wantCounted(t, c)
	}
}

func TestQuotaWithManyWriters(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		for i := range 50 {
			record(t, c, fmt.Sprint("old", i), putText(t, c, fmt.Sprintf("%010000d", i)))
		}
	})
	clk.step()
	c := openTest(t, dir, Options{Quota: 520_000}, clk.hooks())
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 10 {
				data := make([]byte, 10_000)
				data[0], data[1] = byte(worker), byte(i)
				ref, err := cache.PutBytes(t.Context(), c, data)
				if err == nil {
					err = c.Record(t.Context(), recordOf(fmt.Sprint(worker, i), ref))
				}
				if err != nil {
					t.Errorf("writer %d: %v", worker, err)
					return
				}
				if used := c.state.used.Load(); used > 520_000+4*10_000 {
					t.Errorf("%d bytes are used", used)
				}
			}
		})
	}
	group.Wait()
	wantVerified(t, c)
	wantCounted(t, c)
}

// A thousand random steps on a cache with a quota: what is pinned stays whole,
// what is recorded is whole, and the counters stay right.
func TestRandomHistory(t *testing.T) {
	t.Parallel()
	const steps, quota = 1000, 60_000
	dir, clk := t.TempDir(), &clock{}
	rng := rand.New(rand.NewPCG(1, 2))
	h := history{t: t, rng: rng, refs: map[string]cache.Ref{}, pins: map[string]string{}}
	often := clk.hooks()
	often.accessEvery = 1
	for done := 0; done < steps; {
		session(t, dir, Options{Quota: quota}, often, func(c *Cache) {
			h.c = c
			for range 1 + rng.IntN(40) {
				h.step()
				done++
			}
			h.check()
		})
		clk.step()
	}
	if h.quotaErrors == steps || h.evicted == 0 {
		t.Errorf("%d quota errors and %d evictions: the history tests nothing", h.quotaErrors, h.evicted)
	}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) { wantVerified(t, c) })
}

type history struct {
	t    *testing.T
	c    *Cache
	rng  *rand.Rand
	refs map[string]cache.Ref // of actions that were recorded, by name
	pins map[string]string    // pin to action
	quotaErrors,
	evicted int
}

func (h *history) name() string { return fmt.Sprint("a", h.rng.IntN(60)) }

func (h *history) step() {
	switch n := h.rng.IntN(20); {
	case n < 9:
		h.put()
	case n < 14:
		has(h.t, h.c, h.name())
	case n < 16:
		h.pin()
	case n < 17:
		for p := range h.pins {
			must(h.t, h.c.Unpin(h.t.Context(), p))
			delete(h.pins, p)
			break
		}
	default:
		res, err := h.c.GC(h.t.Context(), GCOptions{MaxSize: int64(h.rng.IntN(50_000))})
		must(h.t, err)
		h.evicted += len(res.Evicted)
	}
}

// put records a tree that shares half of its files with others.
func (h *history) put() {
	name := h.name()
	var b tree.Builder
	for i := range 6 {
		owner := name
		if i%2 == 0 {
			owner = name[:2]
		}
		ref, err := cache.PutBytes(h.t.Context(), h.c, []byte(strings.Repeat(fmt.Sprintf("%s %d|", owner, i), 50)))
		if h.full(err) {
			return
		}
		must(h.t, b.Add(fmt.Sprintf("d%d/f%d", i%2, i), ref, false))
	}
	ref, err := b.Build(h.t.Context(), h.c)
	if h.full(err) {
		return
	}
	record(h.t, h.c, name, ref)
	h.refs[name] = ref
}

func (h *history) full(err error) bool {
	if err == nil {
		return false
	}
	wantErr(h.t, err, cache.ErrQuota)
	h.quotaErrors++
	return true
}

func (h *history) pin() {
	if len(h.pins) >= 4 {
		return
	}
	pin, name := fmt.Sprint("pin", h.rng.IntN(9)), h.name()
	if !has(h.t, h.c, name) || h.pins[pin] != "" {
		return
	}
	must(h.t, h.c.Pin(h.t.Context(), Pin{Name: pin, Actions: []digest.ActionID{actionOf(name)}}))
	h.pins[pin] = name
}

func (h *history) check() {
	h.t.Helper()
	for pin, name := range h.pins {
		rec, err := h.c.Lookup(h.t.Context(), actionOf(name))
		if err != nil {
			h.t.Fatalf("pin %s: %v", pin, err)
		}
		must(h.t, closure(h.t, h.c, rec.Outputs["out0"].Ref))
	}
	for name, ref := range h.refs {
		if has(h.t, h.c, name) {
			must(h.t, closure(h.t, h.c, ref))
		}
	}
	wantCounted(h.t, h.c)
}

func TestKeyedSurvivesProcess(t *testing.T) {
	dir := t.TempDir()
	h := hooks{unnamed: true, bootID: "boot 1"}
	data := make([]byte, 300_000)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	write := func(c *Cache, n int) {
		in, err := c.Ingest(t.Context(), "key")
		must(t, err)
		at := int(in.Offset())
		_, err = in.Write(data[at : at+n])
		must(t, err)
		must(t, in.Close())
	}
	session(t, dir, Options{}, h, func(c *Cache) { write(c, 100_000) })
	session(t, dir, Options{}, h, func(c *Cache) { write(c, 50_000) })
	// The machine restarts: what no saved state has synced is not believed.
	h.bootID = "boot 2"
	session(t, dir, Options{}, h, func(c *Cache) {
		in, err := c.Ingest(t.Context(), "key")
		must(t, err)
		if in.Offset() != 0 {
			t.Errorf("offset %d after a restart, want 0", in.Offset())
		}
		_, err = in.Write(data[:200_000])
		must(t, err)
		must(t, in.(*keyedIngest).save(true))
		_, err = in.Write(data[200_000:250_000])
		must(t, err)
		in.(*keyedIngest).lock.Close() // the process dies: no saved state at the end
		in.(*keyedIngest).file.Close()
	})
	h.bootID = "boot 2"
	session(t, dir, Options{}, h, func(c *Cache) {
		in, err := c.Ingest(t.Context(), "key")
		must(t, err)
		if in.Offset() != 250_000 {
			t.Errorf("offset %d after a kill, want 250000", in.Offset())
		}
		in.(*keyedIngest).lock.Close()
		in.(*keyedIngest).file.Close()
	})
	h.bootID = "boot 3"
	session(t, dir, Options{}, h, func(c *Cache) {
		in, err := c.Ingest(t.Context(), "key")
		must(t, err)
		if in.Offset() != 200_000 {
			t.Errorf("offset %d after a restart, want 200000", in.Offset())
		}
		_, err = in.Write(data[200_000:])
		must(t, err)
		ref, err := in.Commit(t.Context(), cache.Ref{ID: digest.Of(data)})
		must(t, err)
		must(t, closure(t, c, ref))
		wantCounted(t, c)
		if left := entriesOf(t, dir+"/ingest"); len(left) != 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// A process may die between giving a keyed ingest its object name and taking
// the old one away. The next ingest of the key must not write to the object.
func TestKeyedDiesWhilePublishing(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	in, err := c.Ingest(t.Context(), "key")
	must(t, err)
	_, err = io.WriteString(in, "some text")
	must(t, err)
	k := in.(*keyedIngest)
	ref := cache.Ref{Kind: cache.Blob, ID: k.hash.ID(), Size: 9}
	fresh, err := c.objects.publish(k.file, true, ref.ID, false)
	if err != nil || !fresh {
		t.Fatalf("publish = %v, %v", fresh, err)
	}
	must(t, k.save(false))
	k.lock.Close()
	k.file.Close()
	again, err := c.Ingest(t.Context(), "key")
	must(t, err)
	if again.Offset() != 0 {
		t.Errorf("offset %d, want 0", again.Offset())
	}
	_, err = io.WriteString(again, "more text")
	must(t, err)
	_, err = again.Commit(t.Context(), cache.Ref{})
	must(t, err)
	must(t, closure(t, c, ref))
	wantVerified(t, c)
}

// As soon as an ingest has given its file away, the next one of the key may
// begin; what the first still does must not touch the second's files.
func TestKeyedHandsOver(t *testing.T) {
	var second cache.Ingest
	var c *Cache
	h := hooks{unnamed: true}
	h.at = func(point string) {
		if point == "keyed unlinked" && second == nil {
			var err error
			second, err = c.Ingest(t.Context(), "key")
			must(t, err)
			_, err = io.WriteString(second, "second")
			must(t, err)
		}
	}
	c = openTest(t, t.TempDir(), Options{}, h)
	first, err := c.Ingest(t.Context(), "key")
	must(t, err)
	_, err = io.WriteString(first, "first")
	must(t, err)
	_, err = first.Commit(t.Context(), cache.Ref{})
	must(t, err)
	second.(*keyedIngest).lock.Close() // its process dies
	second.(*keyedIngest).file.Close()
	third, err := c.Ingest(t.Context(), "key")
	must(t, err)
	if third.Offset() != 6 {
		t.Fatalf("offset %d, want 6", third.Offset())
	}
	ref, err := third.Commit(t.Context(), cache.Ref{ID: digest.Of([]byte("second"))})
	must(t, err)
	must(t, closure(t, c, ref))
}
