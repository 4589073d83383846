package history

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/digest"
)

func action(text string) digest.ActionID { return digest.ActionID(digest.Of([]byte(text))) }

func open(t *testing.T, l *Store) *Pipeline {
	t.Helper()
	s, err := l.Pipeline(pipeline)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Pipeline, address, key string, d time.Duration) {
	t.Helper()
	if err := s.Put(address, Memory{action(key), d}); err != nil {
		t.Fatal(err)
	}
}

func closeState(t *testing.T, s *Pipeline) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPipelineRemembers(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "new"))
	const odd = `step.exec.a["x y = 3 \n ü"]`
	s := open(t, l)
	if _, ok := s.Last(odd); ok || s.LastRun() != "" || len(s.byAddr) != 0 {
		t.Error("an unknown pipeline is remembered")
	}
	if _, err := os.Stat(l.dir); !os.IsNotExist(err) {
		t.Errorf("reading wrote: %v", err)
	}
	put(t, s, odd, "one", 1500*time.Millisecond)
	put(t, s, "step.exec.b", "b", 0)
	closeState(t, s)

	s = open(t, l)
	put(t, s, odd, "two", 0) // a result from the cache: the duration stays
	want := Memory{action("two"), 1500 * time.Millisecond}
	if got, ok := s.Last(odd); !ok || got != want {
		t.Errorf("before Close: %v, want %v", got, want)
	}
	closeState(t, s)

	s = open(t, l)
	if got, ok := s.Last(odd); !ok || got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got, ok := s.Last("step.exec.b"); !ok || got != (Memory{Action: action("b")}) || len(s.byAddr) != 2 {
		t.Errorf("%v, %d addresses", got, len(s.byAddr))
	}
	if err := s.Put("a\nb", Memory{}); err == nil {
		t.Error("an address of two lines is accepted")
	}
	other, err := l.Pipeline("/elsewhere/demo.hcl")
	if err != nil || len(other.byAddr) != 0 {
		t.Errorf("another pipeline of the same name shares the state: %v", err)
	}
}

// What is known already costs no write, and what was executed is written when
// Put returns.
func TestPutWrites(t *testing.T) {
	l := New(t.TempDir())
	s := open(t, l)
	size := func() int64 {
		info, err := os.Stat(s.file.path)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	put(t, s, "a", "1", 0)
	if size() != 0 {
		t.Error("a result from the cache was not buffered")
	}
	put(t, s, "b", "1", time.Second)
	after := size()
	if got, _ := open(t, l).Last("a"); got.Action != action("1") {
		t.Error("not written although something was executed")
	}
	put(t, s, "b", "1", time.Second+time.Microsecond)
	put(t, s, "a", "1", 0)
	closeState(t, s)
	if size() != after {
		t.Error("what was known is written again")
	}
}

func TestLastRunAndUnfinished(t *testing.T) {
	l := New(t.TempDir())
	if l.Unfinished(open(t, l)) != nil {
		t.Error("a pipeline without runs has an unfinished one")
	}
	first := begin(t, l, Opening{})
	if l.Unfinished(open(t, l)) != nil {
		t.Error("a running run is unfinished")
	}
	first.Close() // without RunFinished: as if killed
	if p := l.Unfinished(open(t, l)); p == nil || p.Info.ID != first.ID() {
		t.Errorf("unfinished %v, want %s", p, first.ID())
	}
	second := begin(t, l, Opening{})
	if s := open(t, l); l.Unfinished(s) != nil || s.LastRun() != second.ID() {
		t.Error("the newest run does not count")
	}
}

// A state cut off anywhere, to which another process then appends, has all
// whole lines of both.
func TestTornState(t *testing.T) {
	l := New(t.TempDir())
	s := open(t, l)
	for i := range 5 {
		put(t, s, fmt.Sprintf("step.exec.s[%d]", i), fmt.Sprint(i), time.Second)
	}
	closeState(t, s)
	whole, err := os.ReadFile(s.file.path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(whole); cut >= 0; cut-- {
		write(t, s.file.path, whole[:cut])
		next := open(t, l)
		put(t, next, "step.exec.new", "new", time.Second)
		closeState(t, next)
		got := open(t, l)
		want := strings.Count(string(whole[:cut]), "]\n")
		// A line that lacks nothing but its newline is whole again once
		// something is appended.
		if strings.HasSuffix(string(whole[:cut]), "]") {
			want++
		}
		if len(got.byAddr) != want+1 {
			t.Fatalf("cut at %d: %d addresses, want %d", cut, len(got.byAddr), want+1)
		}
		for i := range want {
			if m, _ := got.Last(fmt.Sprintf("step.exec.s[%d]", i)); m != (Memory{action(fmt.Sprint(i)), time.Second}) {
				t.Fatalf("cut at %d: address %d is %v", cut, i, m)
			}
		}
	}
}

func TestDamagedState(t *testing.T) {
	l := New(t.TempDir())
	s := open(t, l)
	if err := os.MkdirAll(filepath.Dir(s.file.path), 0o777); err != nil {
		t.Fatal(err)
	}
	good := string(appendMemory(nil, "good", Memory{action("x"), time.Second}))
	key := action("x").String()
	write(t, s.file.path, []byte("\x00\x00\n\n"+key+" 1 4 bad\n"+key+" x 3 bad\n"+key+" 1 x bad\nzz 1 3 bad\n"+key+"\nrun\n"+good))
	if s = open(t, l); len(s.byAddr) != 1 || s.LastRun() != "" {
		t.Errorf("%d addresses, want 1: %v", len(s.byAddr), s.byAddr)
	}
}

func TestCompaction(t *testing.T) {
	l := New(t.TempDir())
	r := begin(t, l, Opening{})
	s := open(t, l)
	for round := range 400 {
		for i := range 6 {
			put(t, s, fmt.Sprint("s", i), fmt.Sprint(round), time.Duration(round+1)*time.Second)
		}
	}
	other := open(t, l)
	put(t, other, "other", "x", time.Second) // keeps the file open
	closeState(t, s)
	if n := open(t, l).lines; n < 2400 {
		t.Fatalf("compacted to %d lines while another process writes", n)
	}
	put(t, other, "other", "y", time.Second)
	other.lines = 1 << 20 // as if it had read them all
	closeState(t, other)
	s = open(t, l)
	if s.lines != 8 || len(s.byAddr) != 7 || s.LastRun() != r.ID() {
		t.Errorf("%d lines, %d addresses, last run %q; want 8, 7 and %q", s.lines, len(s.byAddr), s.LastRun(), r.ID())
	}
	if m, _ := s.Last("s3"); m != (Memory{action("399"), 400 * time.Second}) {
		t.Errorf("s3 is %v", m)
	}
	if m, _ := s.Last("other"); m.Action != action("y") {
		t.Errorf("other is %v", m)
	}
	left, err := filepath.Glob(filepath.Join(l.dir, "pipelines", ".compact*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Several writers, some of which compact, lose nothing.
func TestConcurrentStates(t *testing.T) {
	l := New(t.TempDir())
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 0))
			for round := range 25 {
				s, err := l.Pipeline(pipeline)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range 10 {
					d := time.Duration(1+rnd.IntN(1e6)) * time.Millisecond
					if err := s.Put(fmt.Sprintf("w%d-%d", w, i), Memory{action(fmt.Sprint(round)), d}); err != nil {
						t.Error(err)
					}
				}
				s.lines += 5000 // compact whenever possible
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	s := open(t, l)
	if len(s.byAddr) != 40 {
		t.Errorf("%d addresses, want 40", len(s.byAddr))
	}
	for address, m := range s.byAddr {
		if m.Action != action("24") {
			t.Errorf("%s is not that of the last round", address)
		}
	}
}

func TestStateFileName(t *testing.T) {
	l := New("history")
	name := filepath.Base(l.stateFile("/a/" + strings.Repeat("x", 300) + ".hcl").path)
	if len(name) > 200 {
		t.Errorf("name of %d bytes", len(name))
	}
	a, b := l.stateFile("/a/demo.hcl").path, l.stateFile("/b/demo.hcl").path
	if d := cmp.Diff(a, b); d == "" {
		t.Error("two pipelines share a file")
	}
}
