package disk

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// The test binary is also the process that is killed: with this variable set
// it works on a cache until it dies.
const childVariable = "MLEFLOW_TEST_CACHE_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childVariable); spec != "" {
		if err := childMain(spec); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// repairs is the seed of a child that repairs the index.
const repairs = 1 << 40

// child is a process under test. Its specification reads
// "folder|seed|crash point|count|quota".
type child struct {
	c    *Cache
	rng  *rand.Rand
	seed uint64
}

func childMain(spec string) error {
	part := strings.Split(spec, "|")
	seed, _ := strconv.ParseUint(part[1], 10, 64)
	count, _ := strconv.Atoi(part[3])
	quota, _ := strconv.ParseInt(part[4], 10, 64)
	h := hooks{unnamed: seed%2 == 0}
	if part[2] != "" {
		var mu sync.Mutex
		h.at = func(point string) {
			mu.Lock()
			defer mu.Unlock()
			if point == part[2] {
				if count--; count <= 0 {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {}
				}
			}
		}
	}
	h.accessEvery = time.Nanosecond
	c, err := open(part[0], Options{Quota: quota}, h.withDefaults())
	if err != nil {
		return err
	}
	if seed == repairs {
		if _, err := c.Repair(context.Background()); err != nil {
			return err
		}
		return c.Close()
	}
	ch := &child{c: c, rng: rand.New(rand.NewPCG(seed, 0)), seed: seed}
	for i := range 60 {
		if err := ch.work(i); err != nil && !errors.Is(err, cache.ErrQuota) {
			return err
		}
	}
	return c.Close()
}

// work does one thing and tells what is finished.
func (ch *child) work(i int) error {
	ctx := context.Background()
	switch ch.rng.IntN(20) {
	case 0:
		_, err := ch.c.GC(ctx, GCOptions{MaxSize: 200_000})
		return err
	case 1:
		return ch.c.records.index.Rewrite()
	case 2, 3, 4, 5:
		return ch.keyed(ctx)
	}
	name := fmt.Sprintf("%d-%d", ch.seed, i)
	unlock, err := ch.c.LockAction(ctx, actionOf(name))
	if err != nil {
		return err
	}
	defer unlock()
	dir, err := ch.c.TempDir(name)
	if err != nil {
		return err
	}
	for f := range 1 + ch.rng.IntN(5) {
		if err := os.WriteFile(fmt.Sprintf("%s/f%d", dir, f), ch.bytes(1<<ch.rng.IntN(18)), 0o644); err != nil {
			return err
		}
	}
	ref, err := tree.Import(ctx, ch.c, dir, tree.ImportOptions{})
	if err != nil {
		return err
	}
	if err := ch.c.Record(ctx, recordOf(name, ref)); err != nil {
		return err
	}
	fmt.Println("recorded", name, ref.ID, ref.Size, ref.Files)
	switch ch.rng.IntN(3) {
	case 0:
		s, err := ch.c.Share(ctx, ref, nil)
		if err != nil {
			return err
		}
		return s.Close()
	case 1:
		return ch.links(ctx, name, ref)
	}
	return nil
}

// links uses the links of a tree and leaves them.
func (ch *child) links(ctx context.Context, name string, ref cache.Ref) error {
	dir, err := ch.c.TempDir(name)
	if err != nil {
		return err
	}
	dir += "/data"
	for range 2 {
		taken, made, err := ch.c.TakeLinks(ctx, ref, dir)
		if err != nil {
			return err
		}
		if !taken {
			res, err := tree.Materialise(ctx, ch.c, ref, dir, tree.Options{Mode: tree.Link})
			if err != nil {
				return err
			}
			made(res.Folders)
		}
		if err := ch.c.KeepLinks(ref, dir); err != nil {
			return err
		}
	}
	return nil
}

// bytes returns random bytes, one time in three some that others have too.
func (ch *child) bytes(n int) []byte {
	data := make([]byte, n)
	if ch.rng.IntN(3) > 0 {
		for i := 0; i+8 <= n; i += 8 {
			binary.LittleEndian.PutUint64(data[i:], ch.rng.Uint64())
		}
	}
	return data
}

// keyed continues a blob that all children write: byte i is i*i>>3.
func (ch *child) keyed(ctx context.Context) error {
	size := 50_000 * (1 + ch.rng.IntN(4))
	in, err := ch.c.Ingest(ctx, fmt.Sprint("shared ", size))
	if err != nil {
		return err
	}
	defer in.Close()
	for at := int(in.Offset()); at < size; {
		chunk := keyedBytes(at, min(at+9_000, size))
		n, err := in.Write(chunk)
		at += n
		if err != nil {
			return err
		}
	}
	ref, err := in.Commit(ctx, cache.Ref{ID: digest.Of(keyedBytes(0, size))})
	if err != nil {
		return err
	}
	name := fmt.Sprint("keyed", size)
	if err := ch.c.Record(ctx, recordOf(name, ref)); err != nil {
		return err
	}
	fmt.Println("recorded", name, ref.ID, ref.Size, 0)
	return nil
}

func keyedBytes(from, to int) []byte {
	data := make([]byte, 0, to-from)
	for i := from; i < to; i++ {
		data = append(data, byte(i*i>>3))
	}
	return data
}

// childStart is what a child does: count is how often it passes the point before it
// dies there.
type childStart struct {
	dir   string
	seed  uint64
	point string
	count int
}

// startChild starts a process; its output goes to lines until it ends.
func startChild(t *testing.T, s childStart, lines func(string)) (*exec.Cmd, func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+fmt.Sprintf("%s|%d|%s|%d|%d", s.dir, s.seed, s.point, s.count, 2_000_000))
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			lines(scan.Text())
		}
		lines("") // it has ended
	}()
	return cmd, func() {
		<-done
		_ = cmd.Wait()
	}
}

// finished collects what children said they had recorded.
type finished struct {
	t  *testing.T
	mu sync.Mutex
	// records maps the name of an action to the last content recorded.
	records map[string]cache.Ref
	seen    int // records that children finished
}

func (f *finished) line(text string) {
	var name, id string
	var ref cache.Ref
	if _, err := fmt.Sscanf(text, "recorded %s %s %d %d", &name, &id, &ref.Size, &ref.Files); err != nil {
		if strings.HasPrefix(text, "error") {
			f.t.Errorf("child: %s", text)
		}
		return // the line was cut by the kill
	}
	content, err := digest.ParseContentID(id)
	if err != nil {
		return
	}
	ref.ID, ref.Kind = content, cache.Tree
	if strings.HasPrefix(name, "keyed") {
		ref.Kind = cache.Blob
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.records[name] = ref
	f.seen++
}

// check looks for every record that a child had finished: it is there and
// whole, or it was evicted in order.
func (f *finished) check(c *Cache) {
	f.t.Helper()
	for name, ref := range f.records {
		rec, err := c.Lookup(f.t.Context(), actionOf(name))
		if errors.Is(err, cache.ErrNotFound) {
			tomb, err := c.Evicted(f.t.Context(), actionOf(name))
			if err != nil || tomb.Reason == "corrupt" {
				f.t.Errorf("record %s is lost: tombstone %+v, %v", name, tomb, err)
			}
			delete(f.records, name)
			continue
		}
		must(f.t, err)
		if got := rec.Outputs["out0"].Ref; got != ref {
			f.t.Errorf("record %s names %+v, want %+v", name, got, ref)
		}
	}
}

// Processes that repair an index are killed at every point, two at a time.
func TestKillRepair(t *testing.T) {
	t.Parallel()
	for name, damage := range breakIndex {
		for i, point := range []string{"aside", "rebuilt", "aside", "rebuilt"} {
			t.Run(fmt.Sprint(name, " ", point, i), func(t *testing.T) {
				dir := t.TempDir()
				var want []string
				session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
					for i := range 20 {
						want = append(want, fmt.Sprint(i))
						record(t, c, want[i], putTree(t, c, want[i], 3))
					}
				})
				must(t, damage(dir+"/index/log"))
				var waits []func()
				for range 2 {
					_, wait := startChild(t, childStart{dir: dir, seed: repairs, point: point, count: 1 + i/2}, func(string) {})
					waits = append(waits, wait)
				}
				for _, wait := range waits {
					wait()
				}
				c := openTest(t, dir, Options{}, hooks{unnamed: true})
				_, err := c.Repair(t.Context())
				must(t, err)
				must(t, c.Intact())
				wantVerified(t, c)
				for _, name := range want {
					if !has(t, c, name) {
						t.Errorf("record %s is lost", name)
					}
				}
			})
		}
	}
}

// 210 processes are killed, three at a time, at random moments of ingesting,
// recording, collecting and compacting.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &finished{t: t, records: make(map[string]cache.Ref)}
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 35 {
		var waits []func()
		for i := range 3 {
			started := make(chan struct{}, 1000)
			cmd, wait := startChild(t, childStart{dir: dir, seed: uint64(3*round + i)}, func(line string) {
				f.line(line)
				started <- struct{}{}
			})
			delay := time.Duration(rng.IntN(20_000)) * time.Microsecond
			waits = append(waits, func() {
				select {
				case <-started:
				case <-time.After(2 * time.Second):
				}
				time.Sleep(delay)
				_ = cmd.Process.Kill()
				wait()
			})
		}
		for _, w := range waits {
			w()
		}
		if round%7 == 6 {
			session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
				f.check(c)
				checkIntact(t, c)
			})
		}
	}
	if f.seen < 50 {
		t.Errorf("only %d records were finished: the test shows little", f.seen)
	}
	session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
		_, err := c.GC(t.Context(), GCOptions{})
		must(t, err)
		wantCounted(t, c)
		if list, err := names(c.path(tmpName)); err != nil || len(list) > 1 {
			t.Errorf("work folders of dead processes are left: %q, %v", list, err)
		}
		wantKept(t, c, 0)
	})
}

// checkIntact fails on any damage.
func checkIntact(t *testing.T, c *Cache) {
	t.Helper()
	res, err := c.Verify(t.Context(), VerifyOptions{Full: true})
	must(t, err)
	for _, d := range res.Damages {
		t.Errorf("damage: %+v", d)
	}
	list, err := c.shares.shareFolders()
	must(t, err)
	for _, f := range list {
		now, err := tree.Stamp(t.Context(), f.dir+"/"+treeName)
		if !f.dead && (err != nil || now != f.info.Stamp) {
			t.Errorf("the shared folder %s is not what it was: %v", f.dir, err)
		}
	}
}

// A process dies at each point where a crash would matter.
func TestKillAtPoints(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"publish", "published", "append", "appended", "remove", "dropped", "compact", "compacted", "keyed linked", "share made", "share dropped", "links kept", "links dropped"} {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			f := &finished{t: t, records: make(map[string]cache.Ref)}
			died := 0
			// A child works at random, so it may end without having come by
			// the point; then others are sent.
			for attempt := 0; attempt < 3 || died == 0 && attempt < 40; attempt++ {
				count := []int{1, 2, 5}[attempt%3]
				cmd, wait := startChild(t, childStart{dir, 1000 + uint64(10*attempt+count), point, count}, f.line)
				wait()
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
					died++
				}
				session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
					f.check(c)
					checkIntact(t, c)
				})
			}
			if died == 0 {
				t.Error("no process reached the point")
			}
		})
	}
}

// Two processes that want the same action do it once: the lock makes the
// second wait, and then it finds the record.
func TestProcessesShareActions(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	ran := make(map[string]int)
	var waits []func()
	for range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestShareActionsChild$")
		cmd.Env = append(os.Environ(), shareVariable+"="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		waits = append(waits, func() {
			for scan := bufio.NewScanner(out); scan.Scan(); {
				if name, ok := strings.CutPrefix(scan.Text(), "ran "); ok {
					mu.Lock()
					ran[name]++
					mu.Unlock()
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("child: %v", err)
			}
		})
	}
	var group sync.WaitGroup
	for _, w := range waits {
		group.Go(w)
	}
	group.Wait()
	for i := range 40 {
		if n := ran[fmt.Sprint(i)]; n != 1 {
			t.Errorf("action %d ran %d times", i, n)
		}
	}
}

const shareVariable = "MLEFLOW_TEST_CACHE_SHARE"

// TestShareActionsChild is the process of TestProcessesShareActions, and does
// nothing on its own.
func TestShareActionsChild(t *testing.T) {
	dir := os.Getenv(shareVariable)
	if dir == "" {
		return
	}
	c := openTest(t, dir, Options{}, hooks{unnamed: true})
	for _, i := range rand.Perm(40) {
		name := fmt.Sprint(i)
		unlock, err := c.LockAction(t.Context(), actionOf(name))
		must(t, err)
		if !has(t, c, name) {
			time.Sleep(time.Millisecond)
			record(t, c, name, putText(t, c, name))
			fmt.Println("ran", name)
		}
		unlock()
	}
}
