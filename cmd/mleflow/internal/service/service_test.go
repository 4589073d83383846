package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/queue"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
)

// TestMain lets a test's own binary be the process of a submission: it appends a line to
// the file that TALLY names, waits until the file GATE exists, and ends.
func TestMain(m *testing.M) {
	if os.Getenv(submitted.Variable) == "" {
		os.Exit(m.Run())
	}
	in, err := submitted.Enter(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	err = in.Began("run-" + filepath.Base(filepath.Dir(in.Root())))
	f, errTally := os.OpenFile(os.Getenv("TALLY"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err = errors.Join(err, errTally); err != nil {
		panic(err)
	}
	fmt.Fprintln(f, filepath.Base(filepath.Dir(in.Root())))
	f.Close()
	for {
		if _, err := os.Stat(os.Getenv("GATE")); err == nil {
			in.End(7)
			os.Exit(7)
		}
		time.Sleep(10 * time.Millisecond) // polls a file
	}
}

type bench struct {
	dir, tally, gate string
	o                Options
}

func newBench(t *testing.T, o Options) *bench {
	dir := t.TempDir()
	b := &bench{dir: filepath.Join(dir, "cache"), tally: filepath.Join(dir, "tally"), gate: filepath.Join(dir, "gate"), o: o}
	b.o.Environ = []string{"TALLY=" + b.tally, "GATE=" + b.gate}
	t.Cleanup(func() { _ = os.WriteFile(b.gate, nil, 0o600) })
	return b
}

func (b *bench) open(t *testing.T) *Service {
	t.Helper()
	s, err := Open(b.dir, b.o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func submit(t *testing.T, s *Service, owner string, m Manifest) Submission {
	t.Helper()
	text := []byte(`output "x" { value = 1 }`)
	id := digest.Of(text).String()
	if err := s.Put(t.Context(), owner, id, strings.NewReader(string(text))); err != nil {
		t.Fatal(err)
	}
	m.Pipeline, m.Files = "p.hcl", []File{{Path: "p.hcl", Digest: id, Size: int64(len(text))}}
	sub, err := s.Submit(t.Context(), owner, m)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute: not %s", what)
		}
	}
}

func state(s *Service, id string) State {
	sub, _ := s.Get(id)
	return sub.State
}

func run(s *Service) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	return func() { cancel(); <-done; _ = s.Close() }
}

// TestServerDies ends servers while a submission runs: its process goes on, the next
// server finds it, and nothing runs twice.
func TestServerDies(t *testing.T) {
	b := newBench(t, Options{Parallelism: 2})
	s := b.open(t)
	stop := run(s)
	sub := submit(t, s, "ada", Manifest{})
	until(t, "begun", func() bool { now, _ := s.Get(sub.ID); return now.Run != "" })
	if _, err := Open(b.dir, b.o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second server: %v", err)
	}
	stop()
	s = b.open(t)
	stop = run(s)
	later := submit(t, s, "ada", Manifest{})
	until(t, "both run", func() bool { now, _ := s.Get(later.ID); return now.Run != "" })
	stop()
	if err := os.WriteFile(b.gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = b.open(t)
	defer run(s)()
	for _, id := range []string{sub.ID, later.ID} {
		until(t, "ended", func() bool { return state(s, id) == Ended })
		if got, _ := s.Get(id); got.Exit != 7 || len(got.Runs) != 1 || s.OwnerOf(got.Run) != "ada" {
			t.Errorf("%+v", got)
		}
	}
	tally, _ := os.ReadFile(b.tally)
	if want := sub.ID + "\n" + later.ID + "\n"; string(tally) != want {
		t.Errorf("ran %q, want %q", tally, want)
	}
}

func TestTurns(t *testing.T) {
	b := newBench(t, Options{Runs: 1, Owners: map[string]queue.Limits{"bob": {Queued: 2}}})
	s := b.open(t)
	first := submit(t, s, "ada", Manifest{})
	second := submit(t, s, "ada", Manifest{})
	bobs := submit(t, s, "bob", Manifest{})
	urgent := submit(t, s, "ada", Manifest{Priority: 1})
	submit(t, s, "bob", Manifest{})
	if _, err := s.Submit(t.Context(), "bob", Manifest{Pipeline: "demo.hcl"}); !errors.Is(err, ErrLimit) {
		t.Errorf("one more than bob may queue: %v", err)
	}
	var order []string
	for range 4 { // without processes: who is next
		s.mu.Lock()
		e := s.turns.Next()
		if err := s.change(e, func(e *entry) { e.State, e.Started = Ended, queue.Now().Add(time.Duration(len(order))*time.Second) }); err != nil {
			t.Fatal(err)
		}
		s.mu.Unlock()
		order = append(order, e.ID)
	}
	want := []string{urgent.ID, bobs.ID, first.ID}
	if strings.Join(order[:3], " ") != strings.Join(want, " ") {
		t.Errorf("order %v, want %v, then bob's and %s", order, want, second.ID)
	}
}

func TestCancel(t *testing.T) {
	b := newBench(t, Options{Runs: 1})
	s := b.open(t)
	defer run(s)()
	sub := submit(t, s, "ada", Manifest{})
	until(t, "begun", func() bool { now, _ := s.Get(sub.ID); return now.Run != "" })
	waiting := submit(t, s, "ada", Manifest{})
	for _, id := range []string{waiting.ID, sub.ID} {
		if _, err := s.Cancel(id); err != nil {
			t.Error(err)
		}
		until(t, "cancelled", func() bool { return state(s, id) == Cancelled })
	}
	if _, err := s.Cancel(sub.ID); !errors.Is(err, ErrOver) {
		t.Errorf("again: %v", err)
	}
}

func TestStrangersFiles(t *testing.T) {
	s := newBench(t, Options{}).open(t)
	text := "mine"
	id := digest.Of([]byte(text)).String()
	if err := s.Put(t.Context(), "ada", id, strings.NewReader("other")); !errors.Is(err, ErrInvalid) {
		t.Errorf("another content: %v", err)
	}
	if err := s.Put(t.Context(), "ada", id, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[string]int{"ada": 0, "bob": 1} {
		if list, err := s.Missing(t.Context(), owner, []string{id}); len(list) != want || err != nil {
			t.Errorf("%s misses %v, %v", owner, list, err)
		}
	}
	file := File{Path: "p.hcl", Digest: id, Size: 4}
	if _, err := s.Submit(t.Context(), "bob", Manifest{Pipeline: "p.hcl", Files: []File{file}}); !errors.Is(err, ErrMissing) {
		t.Errorf("a file of ada: %v", err)
	}
	for _, bad := range []string{"", ".", "..", "../x", "/etc/passwd", "a/../../x", "a//b", "a/./b", `a\b`, "a\nb", ".git/config", strings.Repeat("a", 2000), "a\x00"} {
		m := Manifest{Pipeline: "p.hcl", Files: []File{file, {Path: bad, Digest: id}}}
		if _, err := s.Submit(t.Context(), "ada", m); !errors.Is(err, ErrInvalid) {
			t.Errorf("path %q: %v", bad, err)
		}
	}
	for name, m := range map[string]Manifest{
		"pipeline elsewhere": {Pipeline: "../p.hcl"}, "no pipeline": {Pipeline: "x"}, "twice": {Pipeline: "p.hcl", Files: []File{file, file}},
		"file and folder": {Pipeline: "p.hcl", Files: []File{file, {Path: "p.hcl/x", Digest: id}}}, "flag": {Pipeline: "p.hcl", Files: []File{file}, Variables: []string{"--cache-dir=/x"}},
		"file of variables": {Pipeline: "p.hcl", Files: []File{file}, Variables: []string{"@/etc/passwd"}}, "digest": {Pipeline: "p.hcl", Files: []File{{Path: "p.hcl", Digest: "../x"}}},
	} {
		if _, err := s.Submit(t.Context(), "ada", m); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := Manifest{Pipeline: "p.hcl", Flags: Flags{Name: "--host", Attempt: "--remote-cache=/x"}, Variables: []string{"x=--y"}}
	for _, arg := range m.args(1)[1:] {
		if arg != "p.hcl" && !strings.HasPrefix(arg, "--") || strings.HasPrefix(arg, "--remote-cache") {
			t.Errorf("argument %q", arg)
		}
	}
}

// TestContinue runs a submission again that has ended, with its files, also after a restart.
func TestContinue(t *testing.T) {
	b := newBench(t, Options{Parallelism: 1, Owners: map[string]queue.Limits{"ada": {Queued: 1}}})
	if err := os.WriteFile(b.gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := b.open(t)
	stop := run(s)
	sub := submit(t, s, "ada", Manifest{})
	until(t, "ended", func() bool { return state(s, sub.ID) == Ended })
	stop()
	s = b.open(t)
	again, err := s.Continue(sub.ID)
	if err != nil || again.State != Queued || again.Exit != 0 || again.Waits != "" {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := s.Continue(sub.ID); !errors.Is(err, ErrLives) {
		t.Errorf("while it is queued: %v", err)
	}
	defer run(s)()
	until(t, "ended again", func() bool { return state(s, sub.ID) == Ended })
	if got, _ := s.Get(sub.ID); got.Exit != 7 {
		t.Errorf("%+v", got)
	}
	if tally, _ := os.ReadFile(b.tally); string(tally) != sub.ID+"\n"+sub.ID+"\n" {
		t.Errorf("ran %q", tally)
	}
	if err := os.RemoveAll(s.contents("ada")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Continue(sub.ID); !errors.Is(err, ErrMissing) || state(s, sub.ID) != Ended {
		t.Errorf("without its files: %v", err)
	}
	if _, err := s.Continue("../files"); !errors.Is(err, ErrUnknown) {
		t.Errorf("no submission: %v", err)
	}
}

// TestParts adds up what the runs of an owner may use: never more than his limits.
func TestParts(t *testing.T) {
	for _, tt := range []struct {
		runs, steps  int
		own          queue.Limits
		running, gpu int
	}{
		{4, 8, queue.Limits{GPUs: 2}, 2, 1}, {4, 8, queue.Limits{GPUs: 5}, 4, 1}, {4, 8, queue.Limits{GPUs: 8, Running: 2}, 2, 4}, {4, 8, queue.Limits{Parallelism: 1, GPUs: 3}, 1, 3},
		{4, 2, queue.Limits{}, 2, 0}, {4, 8, queue.Limits{GPUs: -1}, 4, -1},
	} {
		b := newBench(t, Options{Runs: tt.runs, Parallelism: tt.steps, Limits: tt.own})
		s := b.open(t)
		l := s.limits("ada")
		if gpus := part(l.GPUs, l.Running); l.Running != tt.running || gpus != tt.gpu {
			t.Errorf("%+v: %d run, each with %d GPUs", tt, l.Running, gpus)
		}
		if all := s.parallelism(&entry{Submission: Submission{Owner: "ada"}}) * l.Running; all > tt.steps || tt.own.Parallelism > 0 && all > tt.own.Parallelism {
			t.Errorf("%+v: %d steps", tt, all)
		}
	}
	s := newBench(t, Options{On: "lab.hcl"}).open(t)
	if n := s.parallelism(&entry{Submission: Submission{Owner: "ada"}}); n != 0 {
		t.Errorf("on a cluster %d steps; its capacity is the limit", n)
	}
}
