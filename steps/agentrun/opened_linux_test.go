package agentrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// TestOpenWatch opens some files of two folders while they are watched.
func TestOpenWatch(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "b.csv", "sub/c.png", "sub/d.png"} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := newOpenWatch()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int32{}
	for _, name := range []string{".", "sub"} {
		if ids[name], err = w.add(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.csv", "sub/d.png", "a.csv", "sub"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	w.finish()
	_, a := w.seen[ids["."]]["a.csv"]
	if _, d := w.seen[ids["sub"]]["d.png"]; !a || !d || len(w.seen[ids["."]]) != 1 || len(w.seen[ids["sub"]]) != 1 || w.lost {
		t.Errorf("got %v, lost %v", w.seen, w.lost)
	}
}

// TestImportedPackages imports two of three packages of an environment: a folder of metadata
// is none, and neither is one of which only another file is opened.
func TestImportedPackages(t *testing.T) {
	root := t.TempDir()
	site := filepath.Join(root, "packages", "site-packages")
	for _, name := range []string{"pandas/__init__.py", "pandas-2.0.dist-info/__init__.py", "sklearn/__pycache__/__init__.cpython-311.pyc", "torch/__init__.py", "torch/other.py"} {
		at := filepath.Join(site, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := newOpenWatch()
	if err != nil {
		t.Fatal(err)
	}
	a := &attempt{runtime: executor.Runtime{MapsPaths: true}}
	o := &opening{running: &running{setup: &setup{python: &python{}, place: &place{attempt: a, dirs: layout{root: root}}}}, openWatch: w, packages: map[int32]string{}}
	o.watchPackages()
	for _, name := range []string{"pandas/__init__.py", "pandas-2.0.dist-info/__init__.py", "sklearn/__pycache__/__init__.cpython-311.pyc", "torch/other.py"} {
		if _, err := os.ReadFile(filepath.Join(site, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.finish()
	if got := o.imported(); !slices.Equal(got, []string{"pandas", "sklearn"}) {
		t.Errorf("imported %q", got)
	}
}

// TestOpenFlood opens a few files 100,000 times: the watch keeps a name of each, and reads for
// a small part of the time only. What the kernel drops meanwhile is told.
func TestOpenFlood(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for i := range 8 {
		names = append(names, filepath.Join(dir, strconv.Itoa(i)))
		if err := os.WriteFile(names[i], nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := newOpenWatch()
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.add(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var watching, opening sync.WaitGroup
	watching.Go(func() { w.run(ctx) })
	began := time.Now()
	for range 4 {
		opening.Go(func() {
			for i := range 25_000 {
				if f, err := os.Open(names[i%len(names)]); err == nil {
					f.Close()
				}
			}
		})
	}
	opening.Wait()
	took := time.Since(began)
	stop()
	w.interrupt()
	watching.Wait()
	looks := w.looks
	w.finish()
	if len(w.seen[id]) != len(names) {
		t.Errorf("it knows %d of %d files", len(w.seen[id]), len(names))
	}
	if most := int(took/openPause) + 1; looks > most {
		t.Errorf("it looked %d times in %v, want %d at most", looks, took, most)
	}
	t.Logf("100,000 opens in %v; %d looks; lost some: %v", took, looks, w.lost)
}

// TestOpenedLost overflows the kernel's queue: what is known is a part.
func TestOpenedLost(t *testing.T) {
	most, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	n, _ := strconv.Atoi(string(slices.DeleteFunc(most, func(c byte) bool { return c < '0' || c > '9' })))
	if err != nil || n == 0 || n > 1<<20 {
		t.Skipf("the queue has %q events: %v", most, err)
	}
	dir := t.TempDir()
	w, err := newOpenWatch()
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.add(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for i := range n + 10 { // equal events in a row are one
		f, err := os.OpenFile(names[i%2], os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	w.finish()
	if o := (&opening{running: &running{setup: &setup{place: &place{clock: &clock{}}}}, openWatch: w}); o.partly() == "" || len(w.seen[id]) != 2 {
		t.Errorf("lost %v, seen %v, partly %q", w.lost, w.seen[id], o.partly())
	}
}

// TestOpenAttempts watches more attempts at once than one process does, and one after them.
func TestOpenAttempts(t *testing.T) {
	store, dir := memory.New(), t.TempDir()
	data, err := tree.Put(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	common := Deps{shared: &shared{}}
	watch := func() (stop func(context.Context) *Opened) {
		r := &running{setup: &setup{place: &place{
			attempt: &attempt{deps: common, args: arguments{WatchData: true, Data: &step.Artifact{Ref: data}}}, clock: &clock{},
			env: &step.Env{Store: store}, dirs: layout{data: dir},
		}}}
		return r.watchOpened(t.Context())
	}
	var stops []func(context.Context) *Opened
	for range openAttempts + 1 {
		stops = append(stops, watch())
	}
	unknown := 0
	for _, stop := range stops {
		if stop(t.Context()).Unknown != "" {
			unknown++
		}
	}
	if later := watch()(t.Context()); unknown != 1 || later.Unknown != "" {
		t.Errorf("%d were not watched, the later one: %q", unknown, later.Unknown)
	}
}

// BenchmarkOpened watches 300,000 files in 1,000 folders, each opened once. It reports the
// seconds that the watch takes before and after the agent, and how many times longer the
// opens take.
func BenchmarkOpened(b *testing.B) {
	store, dir := memory.New(), b.TempDir()
	var folders []tree.Entry
	for i := range 1000 {
		var files []tree.Entry
		sub := filepath.Join(dir, "data", fmt.Sprintf("%04d", i))
		if err := os.MkdirAll(sub, 0o700); err != nil {
			b.Fatal(err)
		}
		for k := range 300 {
			name := fmt.Sprintf("%04d.png", k)
			if err := os.WriteFile(filepath.Join(sub, name), nil, 0o600); err != nil {
				b.Fatal(err)
			}
			files = append(files, tree.NewEntry(name, cache.Ref{Kind: cache.Blob, ID: digest.Of([]byte(sub + name))}, false))
		}
		ref, err := tree.Put(b.Context(), store, files)
		if err != nil {
			b.Fatal(err)
		}
		folders = append(folders, tree.NewEntry(fmt.Sprintf("%04d", i), ref, false))
	}
	data, err := tree.Put(b.Context(), store, folders)
	if err != nil {
		b.Fatal(err)
	}
	r := &running{setup: &setup{place: &place{
		attempt: &attempt{deps: Deps{shared: &shared{}}, args: arguments{WatchData: true, Data: &step.Artifact{Ref: data}}}, clock: &clock{},
		env: &step.Env{Store: store}, dirs: layout{data: filepath.Join(dir, "data")},
	}}}
	agent := func() time.Duration {
		began := time.Now()
		_ = filepath.WalkDir(r.dirs.data, func(path string, e os.DirEntry, _ error) error {
			if !e.IsDir() {
				_, _ = os.ReadFile(path)
			}
			return nil
		})
		return time.Since(began)
	}
	agent()
	spent := func(do func()) float64 {
		var before, after unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
		do()
		_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
		return time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()).Seconds()
	}
	for b.Loop() {
		var alone, watched time.Duration
		var stop func(context.Context) *Opened
		var got *Opened
		cpu := spent(func() { alone = agent() })
		start := spent(func() { stop = r.watchOpened(b.Context()) })
		cpu = spent(func() { watched = agent() }) - cpu
		end := spent(func() { got = stop(b.Context()) })
		if got.Files != 300_000 || got.Opened.Opened != 300_000 && got.Partly == "" {
			b.Fatalf("%+v", got.Opened)
		}
		b.ReportMetric(start, "start-cpu-s")
		b.ReportMetric(end, "end-cpu-s")
		b.ReportMetric(cpu, "watch-cpu-s")
		b.ReportMetric(100*(start+max(cpu, 0)+end)/600, "ten-minutes-percent")
		b.ReportMetric(float64(watched)/float64(alone), "opens-ratio")
		b.ReportMetric(float64(got.Opened.Opened), "known")
	}
}
