package checkpoint_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
)

func place(store cache.Cache) checkpoint.Place {
	return checkpoint.Place{Cache: store, Attempt: digest.NewHasher("agent-run", "1").Sum(), Address: "step.agent-run.a", Run: "r"}
}

// counting counts the bytes that are written.
type counting struct {
	cache.Cache
	bytes int64
}

func (c *counting) Ingest(ctx context.Context, key string) (cache.Ingest, error) {
	in, err := c.Cache.Ingest(ctx, key)
	return &counted{in, &c.bytes}, err
}

type counted struct {
	cache.Ingest
	bytes *int64
}

func (c *counted) Write(p []byte) (int, error) {
	*c.bytes += int64(len(p))
	return c.Ingest.Write(p)
}

func TestLatest(t *testing.T) {
	p := place(memory.New())
	if c, err := p.Find(t.Context()); c != nil || err != nil {
		t.Fatalf("got %v, %v", c, err)
	}
	if err := p.End(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ref, err := cache.PutBytes(t.Context(), p.Cache.(cache.Store), []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		one := &checkpoint.Checkpoint{Manifest: checkpoint.Manifest{Number: n + 1, Used: time.Duration(n)}, Details: ref}
		if err := p.Save(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	c, err := p.Find(t.Context())
	if err != nil || c.Number != 3 || c.Used != 2 || c.Details != ref || c.Ended {
		t.Errorf("got %+v, %v", c, err)
	}
	result := cache.Outputs{"details": {JSON: []byte("1")}}
	if err := p.End(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	if c, err := p.Find(t.Context()); err != nil || !c.Ended || c.Number != 4 || !c.Details.IsZero() || !cmp.Equal(c.Result, result) {
		t.Errorf("got %+v, %v", c, err)
	}
}

// slow is a cache whose disk takes longer than anybody waits.
type slow struct {
	cache.Cache
	asked int
}

func (s *slow) Sync(ctx context.Context) error {
	s.asked++
	<-ctx.Done()
	return ctx.Err()
}

// TestHurried sees that a checkpoint of an interrupted attempt is saved whatever the disk
// does, and no other one is before all is on it.
func TestHurried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slow{Cache: memory.New()}
		p := place(store)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := p.Save(ctx, &checkpoint.Checkpoint{Manifest: checkpoint.Manifest{Number: 1, Why: checkpoint.Interval}}); err == nil {
			t.Error("saved before it was on the disk")
		}
		if err := p.Save(t.Context(), &checkpoint.Checkpoint{Manifest: checkpoint.Manifest{Number: 2, Why: checkpoint.Interrupted}}); err != nil {
			t.Error(err)
		}
		if c, err := p.Find(t.Context()); err != nil || c == nil || c.Number != 2 || store.asked != 3 {
			t.Errorf("got %+v, %v after %d calls", c, err, store.asked)
		}
	})
}

// TestMemo sees that only changed files are read again, whatever an agent sets back.
func TestMemo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	m := checkpoint.NewMemo()
	read := func() bool {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.Find("file", info); ok {
			return false
		}
		m.Read("file", cache.Ref{Kind: cache.Blob, ID: digest.Of([]byte("x")), Size: 1}, info, info, time.Now())
		return true
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	old, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !read() {
			t.Error("a file that was just written is not read again")
		}
	}
	time.Sleep(100 * time.Millisecond)
	if first := read(); !first || read() {
		t.Error("an unchanged file is read again")
	}
	write("two")
	if err := os.Chtimes(path, old.ModTime(), old.ModTime()); err != nil {
		t.Fatal(err)
	}
	if !read() {
		t.Error("a change whose time was set back is not seen")
	}
}

// TestGrowing sees that only the end of a file that grows is stored again, and that the
// whole file comes back.
func TestGrowing(t *testing.T) {
	store := &counting{Cache: memory.New()}
	dir := t.TempDir()
	data := bytes.Repeat([]byte("0123456789abcdef"), 20<<16)
	var g checkpoint.Growing
	var c checkpoint.Checkpoint
	var last int64
	for _, size := range []int{0, 100, 18 << 20, 20 << 20} {
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		before := store.bytes
		var b tree.Builder
		if err := g.AddFile(t.Context(), store, &b, "host/file", file); err != nil {
			t.Fatal(err)
		}
		var err error
		if c.State, err = b.Build(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		last = store.bytes - before
		to := t.TempDir()
		if err := c.Gates(t.Context(), store, "host", to); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, "file"))
		if size > 0 && (err != nil || !bytes.Equal(got, data[:size])) {
			t.Errorf("%d bytes came back as %d: %v", size, len(got), err)
		}
	}
	if last > 5<<20 {
		t.Errorf("2 MiB more cost %d bytes", last)
	}
	if err := c.Gates(t.Context(), store, "models", dir); err != nil {
		t.Error(err)
	}
}

// TestLayOutStaysInside lays out checkpoints that name paths outside the home.
func TestLayOutStaysInside(t *testing.T) {
	top := t.TempDir()
	home := filepath.Join(top, "home")
	for _, dir := range []string{home, filepath.Join(home, "agent")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(top, "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	for name, details := range map[string]string{
		"mode above":        `{"path":"../outside","mode":511,"modified":1}`,
		"link above":        `{"path":"../link","link":"home"}`,
		"mode through link": `{"path":"agent/link","mode":511,"modified":1}` + "\n" + `{"path":"agent/link","link":"../../outside"}`,
		"absolute":          `{"path":"` + outside + `","mode":511,"modified":1}`,
	} {
		var c checkpoint.Checkpoint
		var b tree.Builder
		err := b.AddDir("agent")
		if err == nil {
			c.Files, err = b.Build(t.Context(), store)
		}
		if err == nil {
			c.Details, err = cache.PutBytes(t.Context(), store, []byte(details))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := c.LayOut(t.Context(), store, home, func(string) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
		info, err := os.Stat(outside)
		if err != nil || info.Mode().Perm() != 0o600 || info.ModTime().Unix() < 100 {
			t.Errorf("%s: the file outside has changed: %v, %v", name, info, err)
		}
	}
	entries, err := os.ReadDir(top)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"home", "outside"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
