package history

import (
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/event"
)

// TestNodesAfterLoss: every step counts where it ran, and no time of a worker is before
// its start, although the last event is an old one that came late.
func TestNodesAfterLoss(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(s int) event.At { return event.At{Time: start.Add(time.Duration(s) * time.Second)} }
	job := func(s int, address, state, node string) event.Event {
		return event.StepJob{At: at(s), Address: address, On: "lab", Job: "j", State: state, Node: node, GPUs: 1}
	}
	b := &Summariser{sum: &Summary{}, index: map[string]int{}}
	for _, e := range []event.Event{
		event.RunStarted{At: at(0), Run: "r"},
		job(10, "step.a.x", event.JobRunning, "n1"), job(20, "step.a.x", event.JobPending, ""), job(30, "step.a.x", event.JobRunning, "n2"),
		event.StepFinished{At: at(12), Address: "step.a.fast", Status: event.Ran, On: "lab", Node: "n2", FetchedBytes: 7},
		event.StepPhase{At: at(9), Address: "step.a.x"}, // of the lost worker
	} {
		b.Add(e)
	}
	if want := start.Add(30 * time.Second); !b.sum.Last.Equal(want) {
		t.Errorf("the last event is of %s, want %s", b.sum.Last, want)
	}
	uses := b.sum.Nodes()
	if len(uses) != 2 {
		t.Fatalf("%+v", uses)
	}
	n1, n2 := uses[0], uses[1]
	if n1.Steps != 1 || n1.GPUTime != 10*time.Second || n2.Steps != 2 || n2.FetchedBytes != 7 || n2.Last.Before(n2.First) {
		t.Errorf("%+v\n%+v", n1, n2)
	}
}
