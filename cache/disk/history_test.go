package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/tree"
)

// quotaHistories is how many random histories TestQuotaHistories runs unless
// MLEFLOW_HISTORIES says it, and shortQuotaHistories with -short, as make race asks, where
// each takes ten times as long.
const quotaHistories, shortQuotaHistories = 300, 60

// TestQuotaHistories runs random histories of several processes on one cache
// with a quota that changes: they ingest, record, look up, pin, reserve,
// collect, end and die. At every moment the files that the quota counts, with
// what is reserved, are within it; what is pinned is whole; what a live
// process uses is there; and what was evicted has left a tombstone.
func TestQuotaHistories(t *testing.T) {
	t.Parallel()
	histories := quotaHistories
	if testing.Short() {
		histories = shortQuotaHistories
	}
	if text := os.Getenv("MLEFLOW_HISTORIES"); text != "" {
		n, err := strconv.Atoi(text)
		must(t, err)
		histories = n
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var evicted, refused, deaths, reserved atomic.Int64
	home := memoryDir(t)
	for seed := range uint64(histories) {
		group.Go(func() error {
			w := newWorld(t, filepath.Join(home, fmt.Sprint(seed)), seed)
			if err := w.run(); err != nil {
				return fmt.Errorf("history %d, %s: %w", seed, strings.Join(w.log, "; "), err)
			}
			evicted.Add(w.evicted)
			refused.Add(w.refused)
			deaths.Add(w.deaths)
			reserved.Add(w.reserved)
			return os.RemoveAll(w.dir)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d evictions, %d refusals, %d deaths, %d reservations", evicted.Load(), refused.Load(), deaths.Load(), reserved.Load())
	for name, n := range map[string]int64{"evictions": evicted.Load(), "refusals": refused.Load(), "deaths": deaths.Load(), "reservations": reserved.Load()} {
		if n < int64(histories)/4 {
			t.Errorf("only %d %s in %d histories: they test little", n, name, histories)
		}
	}
}

// memoryDir returns a folder in memory, where the system has one: the histories
// open thousands of caches.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "mleflow-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// world is one history: processes on a cache folder, and what must hold.
type world struct {
	t   *testing.T
	dir string
	rng *rand.Rand
	clk clock
	// quota is the limit in force, which every process opens the cache with.
	quota int64
	procs []*proc
	// recorded is what was recorded last under a name, and pins what is pinned.
	recorded map[string]cache.Ref
	pins     map[string]string
	log      []string

	evicted, refused, deaths, reserved int64
}

// proc is a process: a Cache of its own, so that locks and leases are between
// it and the others as between processes.
type proc struct {
	c *Cache
	// uses is what it was given and what must stay while it lives.
	uses     map[digest.ContentID]bool
	ingests  []cache.Ingest
	releases []func()
}

func newWorld(t *testing.T, dir string, seed uint64) *world {
	return &world{
		t: t, dir: dir, rng: rand.New(rand.NewPCG(seed, 5)), quota: 30_000,
		recorded: make(map[string]cache.Ref), pins: make(map[string]string),
	}
}

func (w *world) run() error {
	defer func() {
		for len(w.procs) > 0 {
			w.end(0)
		}
	}()
	for range 16 {
		if len(w.procs) == 0 || (len(w.procs) < 3 && w.rng.IntN(6) == 0) {
			if err := w.open(); err != nil {
				return err
			}
		}
		w.clk.step()
		if err := w.step(w.rng.IntN(len(w.procs))); err != nil {
			return err
		}
		if err := w.check(); err != nil {
			return err
		}
	}
	return w.checkAll()
}

func (w *world) open() error {
	h, seen := w.clk.hooks(), 0
	h.at = func(point string) {
		if seen++; point == "published" && seen%4 == 0 {
			if err := w.withinQuota(); err != nil {
				w.t.Error(err)
			}
		}
	}
	h.accessEvery = 1
	c, err := open(w.dir, Options{Quota: w.quota}, h.withDefaults())
	if err == nil {
		w.procs = append(w.procs, &proc{c: c, uses: make(map[digest.ContentID]bool)})
	}
	return err
}

// step lets process i do one thing.
func (w *world) step(i int) error {
	p := w.procs[i]
	ctx := context.Background()
	names := "abcdefghij"
	name := string(names[w.rng.IntN(len(names))])
	n := w.rng.IntN(20)
	w.log = append(w.log, fmt.Sprint(i, ":", n, name))
	switch {
	case n < 7:
		return w.put(ctx, p, name)
	case n < 9:
		return w.begin(ctx, p, name)
	case n < 11:
		return w.lookup(ctx, p, name)
	case n < 12:
		return w.pin(ctx, p, name)
	case n < 13:
		delete(w.pins, name)
		return ignoreNotFound(p.c.Unpin(ctx, name))
	case n < 15:
		release, err := p.c.Reserve(ctx, 1+w.rng.Int64N(12_000))
		if err == nil {
			p.releases = append(p.releases, release)
			w.reserved++
		}
		return w.full(err)
	case n < 16:
		for _, release := range p.releases {
			release()
		}
		p.releases = nil
	case n < 17:
		res, err := p.c.GC(ctx, GCOptions{MaxSize: w.rng.Int64N(20_000)})
		w.evicted += int64(len(res.Evicted))
		return err
	case n < 18:
		w.end(i)
	case n < 19:
		w.kill(i)
	default:
		return w.changeQuota()
	}
	return nil
}

func ignoreNotFound(err error) error {
	if errors.Is(err, cache.ErrNotFound) {
		return nil
	}
	return err
}

// full accepts that there is no space.
func (w *world) full(err error) error {
	if errors.Is(err, cache.ErrQuota) {
		w.refused++
		return nil
	}
	return err
}

// put records a tree that shares a file with others.
func (w *world) put(ctx context.Context, p *proc, name string) error {
	var b tree.Builder
	var mine []digest.ContentID
	for i, text := range []string{"shared" + string(name[0]%3), name, name + "big"} {
		data := []byte(strings.Repeat(text, 1+i*w.rng.IntN(400)))
		ref, err := cache.PutBytes(ctx, p.c, data)
		if err != nil {
			return w.full(err)
		}
		p.uses[ref.ID] = true
		mine = append(mine, ref.ID)
		if err := b.Add(fmt.Sprintf("d/%d", i), ref, false); err != nil {
			return err
		}
	}
	ref, err := b.Build(ctx, p.c)
	if err != nil {
		return w.full(err)
	}
	for _, id := range append(mine, ref.ID) {
		p.uses[id] = true
	}
	if err := p.c.Record(ctx, recordOf(name, ref)); err != nil {
		return err
	}
	w.recorded[name] = ref
	return nil
}

// begin writes to an ingest, with a key or without, and leaves it open, closes
// or commits it.
func (w *world) begin(ctx context.Context, p *proc, name string) error {
	key := ""
	if w.rng.IntN(2) == 0 {
		key = fmt.Sprint("key", len(w.procs), w.rng.IntN(1_000_000)) // nobody else's: there is nobody to wait
	}
	in, err := p.c.Ingest(ctx, key)
	if err != nil {
		return err
	}
	p.ingests = append(p.ingests, in)
	if _, err := in.Write(bytes.Repeat([]byte(name), smallBlob-w.rng.IntN(2)*smallBlob*9/10)); err != nil {
		return w.full(err)
	}
	_, err = in.Write(make([]byte, w.rng.IntN(8000)))
	if err == nil && w.rng.IntN(2) == 0 {
		var ref cache.Ref
		if ref, err = in.Commit(ctx, cache.Ref{}); err == nil {
			p.uses[ref.ID] = true
		}
	}
	return w.full(err)
}

func (w *world) lookup(ctx context.Context, p *proc, name string) error {
	rec, err := p.c.Lookup(ctx, actionOf(name))
	if err != nil {
		return w.missing(ctx, p, name, err)
	}
	ref := rec.Outputs["out0"].Ref
	if ref != w.recorded[name] {
		return fmt.Errorf("record %s is not what was recorded last", name)
	}
	p.uses[ref.ID] = true
	return nil
}

// missing checks that a record which is gone has left a tombstone.
func (w *world) missing(ctx context.Context, p *proc, name string, err error) error {
	if _, ok := w.recorded[name]; !ok || !errors.Is(err, cache.ErrNotFound) {
		return ignoreNotFound(err)
	}
	tomb, err := p.c.Evicted(ctx, actionOf(name))
	if err == nil && tomb.Reason == "corrupt" {
		err = errors.New("its content was lost")
	}
	if err != nil {
		return fmt.Errorf("record %s is gone: %w", name, err)
	}
	w.evicted++
	delete(w.recorded, name)
	return nil
}

func (w *world) pin(ctx context.Context, p *proc, name string) error {
	err := p.c.Pin(ctx, Pin{Name: name, Actions: []digest.ActionID{actionOf(name)}})
	if err == nil {
		w.pins[name] = name
	} else if w.pins[name] != "" {
		return fmt.Errorf("pin again: %w", err)
	}
	return ignoreNotFound(err)
}

// end lets a process end in order.
func (w *world) end(i int) {
	p := w.procs[i]
	w.procs = append(w.procs[:i:i], w.procs[i+1:]...)
	for _, in := range p.ingests {
		if err := in.Close(); err != nil {
			w.t.Error(err)
		}
	}
	if err := p.c.Close(); err != nil {
		w.t.Error(err)
	}
}

// kill lets a process die: the kernel closes its files, and nothing else
// happens.
func (w *world) kill(i int) {
	p := w.procs[i]
	w.procs = append(w.procs[:i:i], w.procs[i+1:]...)
	w.deaths++
	p.c.work.stop()
	p.c.work.all.Wait()
	files := []*os.File{p.c.file, p.c.objects.deleting.file, p.c.leases.lease.file, p.c.leases.lease.hold, p.c.records.lock.file}
	_ = p.c.records.index.Close()
	for _, in := range p.ingests {
		switch in := in.(type) {
		case *ingest:
			files = append(files, in.file)
		case *keyedIngest:
			files = append(files, in.file, in.lock)
		}
	}
	// The mapping of a lease would keep its lock.
	_ = flock.Unlock(p.c.leases.lease.file)
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// changeQuota starts all processes again with another quota: they end, since a
// limit below what they use could not hold.
func (w *world) changeQuota() error {
	for len(w.procs) > 0 {
		w.end(0)
	}
	w.quota = 20_000 + w.rng.Int64N(60_000)
	w.clk.step()
	if err := w.open(); err != nil {
		return err
	}
	// What is over the new limit goes with the next collection.
	res, err := w.procs[0].c.GC(context.Background(), GCOptions{MaxSize: w.quota})
	w.evicted += int64(len(res.Evicted))
	if err == nil {
		// Pinned content and kept ingests may be more than the new limit;
		// then that is as good as it gets.
		used, err := w.files()
		if err != nil {
			return err
		}
		if used > w.quota {
			w.quota = used
			w.end(0)
			return w.open()
		}
	}
	return err
}

// files returns the bytes of all files that the quota counts.
func (w *world) files() (int64, error) {
	var sum int64
	seen := make(map[uint64]bool) // a keyed ingest has two names for a moment
	for _, dir := range []string{objectsName, ingestName, tmpName} {
		err := filepath.WalkDir(filepath.Join(w.dir, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(d.Name(), ".") {
				return ignoreMissing(err)
			}
			f, err := statPath(path)
			if err == nil && !seen[f.inode] {
				seen[f.inode] = true
				sum += f.size
			}
			return ignoreMissing(err)
		})
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func (w *world) withinQuota() error {
	used, err := w.files()
	for _, p := range w.procs {
		used += p.c.leases.lease.reserved.Load()
		for _, in := range p.ingests {
			if in, ok := in.(*ingest); ok {
				used += unnamedBytes(in)
			}
		}
	}
	if err == nil && used > w.quota {
		err = fmt.Errorf("%d bytes in files and reservations, over the quota of %d", used, w.quota)
	}
	return err
}

// unnamedBytes returns what an ingest has in a file that has no name yet.
func unnamedBytes(in *ingest) int64 {
	var st unix.Stat_t
	if in.file == nil || unix.Fstat(int(in.file.Fd()), &st) != nil || st.Nlink > 0 {
		return 0
	}
	return st.Size
}

// check looks at what must hold after every step.
func (w *world) check() error {
	if err := w.withinQuota(); err != nil {
		return err
	}
	for i, p := range w.procs {
		for id := range p.uses {
			if _, err := p.c.objects.stat(id, false); err != nil {
				return fmt.Errorf("process %d uses what is gone: %w", i, err)
			}
		}
	}
	if len(w.procs) == 0 {
		return nil
	}
	// The records themselves, without using them.
	for _, name := range w.pins {
		rec, _, err := w.procs[0].c.records.index.Get(actionOf(name))
		if err == nil && rec == nil {
			if err = w.procs[0].c.records.index.Refresh(); err == nil {
				rec, _, err = w.procs[0].c.records.index.Get(actionOf(name))
			}
		}
		if rec == nil {
			return fmt.Errorf("pinned record %s is gone: %v", name, err)
		}
		if err := closure(w.t, w.procs[0].c, rec.Outputs["out0"].Ref); err != nil {
			return fmt.Errorf("pinned %s: %w", name, err)
		}
	}
	return nil
}

// alone waits until no other process is alive. The program that another test is starting
// holds the locks of the dead until it begins, and they look alive.
func alone(c *Cache) error {
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		live, err := c.leases.live()
		if err != nil || live.others == 0 {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d processes are alive that have ended", live.others)
		}
	}
}

// checkAll looks at everything at the end.
func (w *world) checkAll() error {
	for len(w.procs) > 0 {
		w.end(0)
	}
	w.clk.step()
	if err := w.open(); err != nil {
		return err
	}
	c := w.procs[0].c
	for name, ref := range w.recorded {
		if err := w.lookup(context.Background(), w.procs[0], name); err != nil {
			return err
		}
		if _, ok := w.recorded[name]; ok {
			if err := closure(w.t, c, ref); err != nil {
				return err
			}
		}
	}
	if err := alone(c); err != nil {
		return err
	}
	if _, err := c.GC(context.Background(), GCOptions{}); err != nil {
		return err
	}
	wantCounted(w.t, c)
	res, err := c.Verify(context.Background(), VerifyOptions{})
	if err == nil && len(res.Damages) > 0 {
		err = fmt.Errorf("damages %+v", res.Damages)
	}
	return err
}
