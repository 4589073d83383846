package disk

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/cachetest"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// clock is a time that tests move: what was done before a step counts as old
// for processes that open the cache after it.
type clock struct{ seconds atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Unix(1_700_000_000+c.seconds.Load(), 0)
}

func (c *clock) step() { c.seconds.Add(10) }

func (c *clock) hooks() hooks { return hooks{unnamed: true, now: c.now} }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

func putText(t testing.TB, c *Cache, text string) cache.Ref {
	t.Helper()
	ref, err := cache.PutBytes(t.Context(), c, []byte(text))
	must(t, err)
	return ref
}

// putTree stores a tree of small files, which differ between names.
func putTree(t testing.TB, c *Cache, name string, files int) cache.Ref {
	t.Helper()
	var b tree.Builder
	for i := range files {
		must(t, b.Add(fmt.Sprintf("d%d/f%d", i%3, i), putText(t, c, fmt.Sprintf("%s %d", name, i)), i%5 == 0))
	}
	ref, err := b.Build(t.Context(), c)
	must(t, err)
	return ref
}

func actionOf(name string) digest.ActionID { return digest.NewHasher("test", name).Sum() }

func recordOf(name string, refs ...cache.Ref) *cache.Record {
	rec := &cache.Record{Action: actionOf(name), Address: "step.test." + name, Kind: "test", Run: "r", Outputs: cache.Outputs{}}
	for i, ref := range refs {
		rec.Outputs[fmt.Sprint("out", i)] = cache.Value{Ref: ref}
	}
	return rec
}

func record(t testing.TB, c *Cache, name string, refs ...cache.Ref) {
	t.Helper()
	must(t, c.Record(t.Context(), recordOf(name, refs...)))
}

func has(t testing.TB, c *Cache, name string) bool {
	t.Helper()
	_, err := c.Lookup(t.Context(), actionOf(name))
	if err != nil && !errors.Is(err, cache.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// session opens the cache, does something and closes it.
func session(t testing.TB, dir string, opts Options, h hooks, do func(c *Cache)) {
	t.Helper()
	cachetest.Removable(t, dir)
	c, err := open(dir, opts, h.withDefaults())
	must(t, err)
	do(c)
	must(t, c.Close())
}

// present reports whether the file of an object is there.
func present(c *Cache, ref cache.Ref) bool {
	_, err := c.objects.stat(ref.ID, false)
	return err == nil
}

// closure returns an error unless everything below ref can be read and is
// right.
func closure(t testing.TB, c *Cache, ref cache.Ref) error {
	t.Helper()
	read := func(id digest.ContentID) error {
		_, err := cache.Get(t.Context(), c, id, 1<<30)
		return err
	}
	if err := read(ref.ID); err != nil || ref.Kind != cache.Tree {
		return err
	}
	return tree.Walk(t.Context(), c, ref, func(_ string, e tree.Entry) error { return read(e.ID) })
}

// overwrite changes the bytes of an object's file in place, as a process that
// may write would.
func overwrite(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.Chmod(path, 0o644))
	must(t, os.WriteFile(path, change(data), 0o644))
}

func flip(data []byte) []byte {
	data[len(data)/2] ^= 1
	return data
}

// wantVerified fails unless a full verification finds nothing wrong.
func wantVerified(t testing.TB, c *Cache) VerifyResult {
	t.Helper()
	res, err := c.Verify(t.Context(), VerifyOptions{Full: true})
	must(t, err)
	for _, d := range res.Damages {
		t.Errorf("damage: %+v", d)
	}
	return res
}

// wantCounted fails unless the shared counters are what a count gives.
func wantCounted(t testing.TB, c *Cache) {
	t.Helper()
	n, err := c.objects.count(func(file, facts) {})
	must(t, err)
	keyed, err := c.ingests.keyedBytes()
	must(t, err)
	_, shared, err := c.shares.sharedBytes()
	must(t, err)
	if used, objects := c.state.used.Load(), c.state.objects.Load(); used != n.bytes+keyed+shared+c.leases.lease.counted().sum() || objects != n.objects {
		t.Errorf("counters say %d objects and %d bytes; there are %d of %d, %d unfinished, %d shared and %d in flight",
			objects, used, n.objects, n.bytes, keyed, shared, c.leases.lease.counted().sum())
	}
}

func entriesOf(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if path != dir {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, rel)
		}
		return err
	}))
	return list
}

// withDefaults returns h with the system's hooks where it has none.
func (h hooks) withDefaults() hooks {
	system := systemHooks()
	if h.now == nil {
		h.now = system.now
	}
	h.bootID, h.accessEvery = cmp.Or(h.bootID, system.bootID), cmp.Or(h.accessEvery, system.accessEvery)
	if h.write == nil {
		h.write = system.write
	}
	if h.link == nil {
		h.link = system.link
	}
	if h.space == nil {
		h.space = system.space
	}
	if h.at == nil {
		h.at = system.at
	}
	return h
}
