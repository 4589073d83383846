package history

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

// TestMain lets the test binary be a process that uses a run history as hard as it
// can until it is killed: with MLEFLOW_TEST_LEDGER set to a folder.
func TestMain(m *testing.M) {
	dir := os.Getenv("MLEFLOW_TEST_LEDGER")
	use := useLedger
	if from := os.Getenv("MLEFLOW_TEST_REMOVES"); from != "" {
		dir, use = from, removeAll
	}
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := use(New(dir)); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// useLedger runs one made-up pipeline after the other. After each thing that
// must not be lost it prints what that was.
func useLedger(l *Store) error {
	for n := 0; ; n++ {
		s, err := l.Pipeline(pipeline)
		if err != nil {
			return err
		}
		r, err := l.Begin(Opening{Info: Info{Pipeline: pipeline}, Plan: &plan.Plan{}, Sources: map[string][]byte{"demo.hcl": []byte("x")}, Counted: []string{"step.exec.s[0]"}})
		if err != nil {
			return err
		}
		fmt.Println("begun", r.ID())
		r.Emit(event.RunStarted{At: at(0), Run: r.ID()})
		if err := useRun(l, r, s, n); err != nil {
			return err
		}
		r.Emit(event.RunFinished{At: at(2), Run: r.ID(), Status: event.Ran, Ran: 5})
		fmt.Println("finished", r.ID())
		s.lines += 5000 // compact whenever possible
		if err := s.Close(); err != nil {
			return err
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
}

func useRun(l *Store, r *Run, s *Pipeline, n int) error {
	for i := range 5 {
		address := fmt.Sprintf("step.exec.s[%d]", i)
		log := newLog(r.dir+"/logs/"+logName(address, 1), 50, 25, nil)
		r.Emit(event.StepStarted{At: at(1), Address: address, Try: 1})
		for k := range 30 {
			fmt.Fprintf(log, "line %d\n", k)
		}
		if err := log.Close(); err != nil {
			return err
		}
		if err := l.Extend(Link{Type: Began, Run: r.ID(), Step: Mark(address)}); err != nil {
			return err
		}
		r.Emit(event.StepFinished{At: at(2), Address: address, Status: event.Ran})
		fmt.Println("step", r.ID(), address)
		d := time.Duration(n*5+i+1) * time.Millisecond
		if err := s.Put(address, Memory{action(fmt.Sprint(address, d)), d}); err != nil {
			return err
		}
		fmt.Println("put", address, d.Milliseconds())
	}
	return nil
}

// promises are what killed processes said was safe.
type promises struct {
	runs  map[string]bool
	ended map[string]bool
	steps map[string]map[string]bool
	puts  map[string]int64 // of the last process
	seen  map[string]bool  // runs that have been checked
}

// hear reads what a process says until it has died, and calls kill after so
// many lines.
func (p *promises) hear(out io.Reader, lines int, kill func()) error {
	p.puts = map[string]int64{}
	s := bufio.NewScanner(out)
	for n := 0; ; n++ {
		if n == lines {
			kill()
		}
		if !s.Scan() {
			return nil
		}
		f := strings.Fields(s.Text())
		switch {
		case len(f) == 2 && f[0] == "begun":
			p.runs[f[1]] = true
		case len(f) == 2 && f[0] == "finished":
			p.ended[f[1]] = true
		case len(f) == 3 && f[0] == "step":
			if p.steps[f[1]] == nil {
				p.steps[f[1]] = map[string]bool{}
			}
			p.steps[f[1]][f[2]] = true
		case len(f) == 3 && f[0] == "put":
			ms, err := strconv.ParseInt(f[2], 10, 64)
			if err == nil {
				p.puts[f[1]] = ms
			}
		case len(f) > 0 && f[0] == "error":
			return fmt.Errorf("the process failed: %s", s.Text())
		}
	}
}

// TestKill kills a process that uses the run history, again and again, and checks
// after each time that all is readable and nothing promised is lost.
func TestKill(t *testing.T) {
	const kills = 110
	dir := t.TempDir()
	l := New(dir)
	p := &promises{runs: map[string]bool{}, ended: map[string]bool{}, steps: map[string]map[string]bool{}, seen: map[string]bool{}}
	rnd := rand.New(rand.NewPCG(9, 10))
	states := map[State]int{}
	for range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "MLEFLOW_TEST_LEDGER="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// A run says twelve lines; the delay is for the moments between.
		err = p.hear(out, rnd.IntN(20), func() {
			time.AfterFunc(time.Duration(rnd.IntN(3000))*time.Microsecond, func() { cmd.Process.Kill() })
		})
		cmd.Wait()
		if err != nil {
			t.Fatal(err)
		}
		p.check(t, l, states)
	}
	for state := range states {
		if state != Interrupted && state != Finished {
			t.Errorf("a run of a killed process is %s", state)
		}
	}
	if states[Interrupted] < 20 || states[Finished] < 20 {
		t.Errorf("states %v: the kills test too little", states)
	}
	t.Logf("%d kills, states seen %v", kills, states)
}

func (p *promises) check(t *testing.T, l *Store, states map[State]int) {
	t.Helper()
	list, err := l.List()
	if err != nil {
		t.Fatal(err)
	}
	ids, err := l.ids()
	if err != nil || len(ids) != len(list) {
		t.Fatalf("%d runs, %d of them readable: %v", len(ids), len(list), err)
	}
	for _, e := range list {
		if p.seen[e.ID] {
			continue // nobody writes to it any more
		}
		p.seen[e.ID] = true
		states[e.State]++
		if p.ended[e.ID] && e.State != Finished {
			t.Fatalf("run %s is %s but said it had finished", e.ID, e.State)
		}
		past, err := l.Find(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := past.Summary()
		if err != nil || sum.Unreadable != 0 {
			t.Fatalf("run %s: %v, %d lines are unreadable", e.ID, err, sum.Unreadable)
		}
		if _, err := past.Plan(); err != nil {
			t.Fatal(err)
		}
		for address := range p.steps[e.ID] {
			if s := sum.Step(address); s == nil || s.Status != event.Ran {
				t.Fatalf("run %s lost %s", e.ID, address)
			}
		}
		checkLogs(t, past, sum)
	}
	p.checkState(t, l)
	p.checkChain(t, l)
}

// checkChain checks that no link of a step or run is lost.
func (p *promises) checkChain(t *testing.T, l *Store) {
	t.Helper()
	text, err := l.Chain()
	if err != nil {
		t.Fatal(err)
	}
	links, err := ParseChain(text)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, link := range links {
		found[link.Run+" "+link.Step] = true
	}
	for run := range p.runs {
		if !found[run+" "] {
			t.Fatalf("the chain lost the declaration of run %s", run)
		}
		for address := range p.steps[run] {
			if !found[run+" "+Mark(address)] {
				t.Fatalf("the chain of run %s lost %s", run, address)
			}
		}
	}
}

func checkLogs(t *testing.T, past *Past, sum *Summary) {
	t.Helper()
	var whole strings.Builder
	for k := range 30 {
		fmt.Fprintf(&whole, "line %d\n", k)
	}
	for _, s := range sum.Steps {
		if s.Status != event.Ran {
			if len(past.Logs(s.Address)) == 1 { // begun: must be readable
				readLog(t, past.logPath(s.Address, 1))
			}
			continue
		}
		checkLog(t, readLog(t, past.logPath(s.Address, 1)), whole.String(), 50, 25)
	}
}

func (p *promises) checkState(t *testing.T, l *Store) {
	t.Helper()
	s := open(t, l)
	for address, m := range s.byAddr {
		if m.Action != action(fmt.Sprint(address, m.Duration)) {
			t.Fatalf("%s has the action of another", address)
		}
	}
	for address, ms := range p.puts {
		// The process may have put the next one and been killed before it
		// said so.
		if m, _ := s.Last(address); m.Duration.Milliseconds() != ms && m.Duration.Milliseconds() != ms+5 {
			t.Fatalf("%s is of %v, but %d ms had been put", address, m.Duration, ms)
		}
	}
}
