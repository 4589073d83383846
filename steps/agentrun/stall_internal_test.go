package agentrun

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/step"
)

func stillIn(t *testing.T, after time.Duration, tell func(step.Stall)) (*stillness, layout) {
	t.Helper()
	a := &attempt{stalledAfter: after}
	p := &place{attempt: a, clock: &clock{}, env: &step.Env{Log: io.Discard, Stalled: tell}, phases: &phases{}}
	p.dirs = a.layoutIn(t.TempDir())
	for _, dir := range []string{filepath.Join(p.dirs.home, "agent"), p.dirs.tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.startedAt(time.Now())
	return &stillness{running: &running{setup: &setup{place: p}}, every: stallEvery}, p.dirs
}

// TestClockJumps measures after hours in which the machine slept: only what was observed
// counts. A clock that is set back is no sign of work and no stall.
func TestClockJumps(t *testing.T) {
	var told []step.Stall
	w, _ := stillIn(t, 10*time.Minute, func(s step.Stall) { told = append(told, s) })
	at := time.Now().Round(0) // the wall clock
	for _, d := range []time.Duration{0, 30 * time.Second, 10 * time.Hour, -20 * time.Hour, 30 * time.Second} {
		at = at.Add(d)
		w.next = time.Time{}
		w.look(t.Context(), measured{at: at, cpu: time.Second})
	}
	if len(told) > 0 || w.quiet > 10*time.Minute {
		t.Errorf("%v, %+v", w.quiet, told)
	}
}

// TestHostileFolders visits what an agent may leave to hold up those who look.
func TestHostileFolders(t *testing.T) {
	_, dirs := stillIn(t, time.Minute, nil)
	in := func(name string) string { return filepath.Join(dirs.home, "agent", name) }
	see := func() changes {
		t.Helper()
		c, err := dirs.changes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mkfifo(in("pipe"), 0o600))
	must(os.Symlink("..", in("loop")))
	must(os.Symlink("/", in("root")))
	must(os.Mkdir(in("closed"), 0))
	before := see()
	if again := see(); before != again || before.entries != 5 {
		t.Errorf("%+v, then %+v", before, again)
	}
	must(os.WriteFile(in("old"), nil, 0o600))
	must(os.Chtimes(in("old"), time.Unix(1, 0), time.Unix(1, 0))) // as touch -d
	if after := see(); after == before || after.last < before.last {
		t.Errorf("%+v, then %+v", before, after)
	}
	must(os.MkdirAll(filepath.Join(dirs.home, "data", "inner"), 0o700))
	shared := see()
	must(os.WriteFile(filepath.Join(dirs.home, "data", "inner", "file"), nil, 0o600))
	if see() != shared {
		t.Error("the data count")
	}
	t.Run("deep", func(t *testing.T) {
		at := in("deep")
		for range mostDepth + 2 {
			at = filepath.Join(at, "d")
		}
		must(os.MkdirAll(at, 0o700))
		if _, err := dirs.changes(t.Context()); err != errMany {
			t.Error(err)
		}
		must(os.RemoveAll(in("deep")))
	})
	defer func(n int64) { mostEntries = n }(mostEntries)
	mostEntries = 1500
	for i := range 2000 {
		must(os.WriteFile(in(fmt.Sprint("many", i)), nil, 0o600))
	}
	if c, err := dirs.changes(t.Context()); err != errMany || c.entries != mostEntries+1 {
		t.Error(c, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dirs.changes(ended); err == nil {
		t.Error("it visits for ever")
	}
	told := 0
	w, again := stillIn(t, time.Minute, func(step.Stall) { told++ })
	for i := range 2000 {
		must(os.WriteFile(filepath.Join(again.tmp, fmt.Sprint(i)), nil, 0o600))
	}
	for at, i := time.Now(), 0; i < 10; i, at = i+1, at.Add(30*time.Second) {
		w.next = time.Time{}
		w.look(t.Context(), measured{at: at})
	}
	if told > 0 {
		t.Error("what cannot be seen counts as a stall")
	}
}
