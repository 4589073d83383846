package view

import (
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// lostJob are the events of an attempt whose node is lost after four minutes. The last
// phase of the lost worker comes late.
func lostJob() (events []event.Event, lost time.Time) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const address = "step.agent-run.a"
	at := func(d time.Duration) event.At { return event.At{Time: start.Add(d)} }
	phase := func(d time.Duration) event.Event {
		return event.StepPhase{At: at(d), Address: address, Phase: step.Phase{Name: step.Running, Started: start, LimitMillis: 100_000}}
	}
	job := func(d time.Duration, state, node string, starts int, reason, message string) event.Event {
		return event.StepJob{At: at(d), Address: address, On: "lab", Job: "j", State: state, Node: node, Starts: starts, Reason: reason, Message: message}
	}
	return []event.Event{
		event.RunStarted{At: at(0), Run: "r", Pipeline: "p.hcl", ToRun: 1},
		event.StepStarted{At: at(0), Address: address, Kind: "agent-run", Try: 1, On: "lab"},
		job(time.Second, event.JobPending, "", 0, "Resources", ""),
		job(2*time.Second, event.JobPending, "", 0, "Priority", ""),
		job(3*time.Second, event.JobRunning, "n1", 1, "", ""),
		phase(4 * time.Second),
		job(4*time.Minute, event.JobPending, "", 1, "BeginTime", "to be started again: Slurm took it off its node"),
		phase(5 * time.Second),
		job(5*time.Minute, event.JobRunning, "n2", 2, "", ""),
	}, start.Add(4*time.Minute + 28*time.Second)
}

// TestPlainTellsLosses: the wait, the loss and the restart of a job are a line each, with
// the reason; that it waits is said once.
func TestPlainTellsLosses(t *testing.T) {
	var out strings.Builder
	p := NewPlainOf(NewState(), &out, Style{}, false)
	events, _ := lostJob()
	for _, e := range events {
		p.Emit(e)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		if _, text, ok := strings.Cut(line, "job step.agent-run.a: "); ok {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	want := "pending on lab: Resources|pending on lab: BeginTime: to be started again: Slurm took it off its node|running on lab, node n2, start 2"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestUnderWayAfterLoss: while a job waits for another start, and until its new worker
// tells its own, no phase of the lost worker is shown.
func TestUnderWayAfterLoss(t *testing.T) {
	events, lost := lostJob()
	s := NewState()
	for i, e := range events {
		s.Apply(e)
		var out strings.Builder
		WriteUnderWay(&out, s, Style{}, 0, lost)
		shown, running := strings.Contains(out.String(), "of 1m40s"), s.UnderWay()
		if want := i == 5; shown != want || i > 0 && (running.Running[0].Phase != nil) != want {
			t.Errorf("after event %d: %s", i, out.String())
		}
		if i == 7 && !strings.Contains(out.String(), "pending on lab: BeginTime") {
			t.Errorf("the loss is not shown: %s", out.String())
		}
	}
}
