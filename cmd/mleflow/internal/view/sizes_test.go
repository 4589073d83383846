package view

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
)

// TestEverySize draws the live view, with a leaderboard that is folded, and what show says
// of a run, on terminals of every small size.
func TestEverySize(t *testing.T) {
	states := map[string]*State{"nothing": NewState(), "a run": stateOf(liveEvents()), "no step": stateOf([]event.Event{event.RunStarted{At: after(0)}})}
	graded := graded()
	graded.Draw = func(reports []grading.Graded, width int) string {
		return plain.Fold("place  agent                    any medal  valid\n"+strings.Repeat("1      mine with a longer name     66.7 %    6/6\n", len(reports)), 2, width)
	}
	s := NewState()
	s.Grades = graded
	for _, e := range liveEvents() {
		s.Apply(e)
	}
	for n := range 5 {
		s.Apply(grade(n))
	}
	states["grades"] = s
	for name, s := range states {
		for width := range 41 {
			for height := range 25 {
				frame := screen(s, Style{}, width, height, after(30_000).Time)
				if frame != "" && width > 0 {
					checkFrame(t, frame, width, height)
				}
				WriteUnderWay(io.Discard, s, Style{}, width, after(30_000).Time)
				var p painter
				for _, w := range []int{80, width, 80} {
					p.paint(w, []string{name}, frame)
				}
			}
		}
	}
}

// TestNothingToShow shows what is empty.
func TestNothingToShow(t *testing.T) {
	for name, show := range map[string]func(w io.Writer){
		"plan":      func(w io.Writer) { Plan(w, &plan.Plan{}, Style{}, true) },
		"summary":   func(w io.Writer) { Summary(w, NewState(), Style{}) },
		"outputs":   func(w io.Writer) { Outputs(w, "", nil, Style{}) },
		"preflight": func(w io.Writer) { Preflights(w, &event.Run{}, Style{}) },
		"table":     func(w io.Writer) { NewTable().Write(w, Style{}) },
		"folded": func(w io.Writer) {
			for width := range 41 {
				table := NewTable("a", ">b", "c")
				table.Fit(2, width)
				table.Row("x", "something longer", "y")
				table.Write(w, Style{})
			}
		},
		"steps":      func(w io.Writer) { Steps(w, &history.Summary{}, Style{}, true) },
		"nodes":      func(io.Writer) { nodesTable(nil) },
		"difference": func(w io.Writer) { Difference(w, &outputs.Difference{}, Style{}, true) },
	} {
		t.Run(name, func(*testing.T) { show(io.Discard) })
	}
}

// TestBrokenView sees that the plain view continues when the live one panics.
func TestBrokenView(t *testing.T) {
	path := filepath.Join(t.TempDir(), "terminal")
	terminal, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	s := NewState()
	l := &Live{state: s, terminal: terminal, over: make(chan struct{}), done: make(chan struct{}), size: func() (int, int, error) { panic("size") }}
	go l.run()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		l.mu.Lock()
		broken := l.plain != nil
		l.mu.Unlock()
		if broken {
			break
		}
	}
	for _, e := range liveEvents() {
		l.Emit(e)
	}
	l.Close()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "internal error") || !strings.Contains(string(text), fmt.Sprint("start ", solve(94))) {
		t.Errorf("got %q, %v", text, err)
	}
}
