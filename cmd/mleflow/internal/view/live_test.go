package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/hostiletest"
	"github.com/mleflow/mleflow/engine/step"
)

func solve(n int) string { return fmt.Sprintf(`step.agent-run.solve["leaf-classification/%d"]`, n) }

// liveEvents is a run of 200 attempts of which some are done, some failed, and
// four are each in another phase, while others wait.
func liveEvents() []event.Event {
	list := []event.Event{
		event.RunStarted{At: after(0), Run: "r1", Pipeline: "lite.hcl", Steps: 403, ToRun: 1, Cached: 2, Deferred: 400,
			Blocks: []event.Block{{Block: "step.download.raw", Steps: 1}, {Block: "step.prepare.data", Steps: 1}, {Block: "step.agent-run.solve", Steps: 200}, {Block: "step.grade.score", Steps: 200}, {Block: "step.aggregate.board", Steps: 1}}},
		event.StepFinished{At: after(1), Address: "step.download.raw", Kind: "download", Status: event.Cached},
		event.StepFinished{At: after(1), Address: "step.prepare.data", Kind: "prepare", Status: event.Cached},
	}
	for n := range 94 {
		e := event.StepFinished{At: after(1000), Address: solve(n), Kind: "agent-run", Status: event.Ran, DurationMillis: 900, Outputs: map[string]string{"outcome": `"finished"`}}
		if n < 3 {
			e.Outputs["outcome"] = `"agent_failed"`
		}
		list = append(list, event.StepStarted{At: after(100), Address: solve(n), Kind: "agent-run", Try: 1}, e)
	}
	start := func(n int, at int64, phase step.Phase, devices ...string) {
		list = append(list, event.StepStarted{At: after(at), Address: solve(n), Kind: "agent-run", Try: 1, Devices: devices},
			event.StepPhase{At: after(at + 10), Address: solve(n), Phase: phase})
	}
	start(94, 2000, step.Phase{Name: step.Running, Started: after(5000).Time, LimitMillis: 24 * 3600 * 1000, MemoryBytes: 12 << 30, Submission: step.SubmissionValid}, "gpu0")
	list = append(list, event.StepLog{At: after(20_000), Address: solve(94), Line: "epoch 3/20 loss 0.31"})
	start(95, 3000, step.Phase{Name: step.Running, Started: after(6000).Time, LimitMillis: 24 * 3600 * 1000, MemoryBytes: 700 << 20, Submission: step.SubmissionInvalid, Reason: "column id is missing"}, "gpu1")
	start(96, 4000, step.Phase{Name: step.Placing, Files: 120_000, TotalFiles: 285_000, Bytes: 6 << 30, TotalBytes: 32 << 30})
	list = append(list, event.StepPhase{At: after(20_010), Address: solve(96), Phase: step.Phase{Name: step.Placing, Files: 200_000, TotalFiles: 285_000, Bytes: 22 << 30, TotalBytes: 32 << 30}})
	start(97, 5000, step.Phase{Name: step.Harvesting, Files: 12, Bytes: 3 << 20})
	start(98, 6000, step.Phase{Name: step.Starting, What: "unpacking the image", Bytes: 1 << 30, TotalBytes: 4 << 30})
	list = append(list, event.StepPhase{At: after(20_010), Address: solve(98), Phase: step.Phase{Name: step.Starting, What: "unpacking the image", Bytes: 2 << 30, TotalBytes: 4 << 30}})
	return append(list,
		event.Waiting{At: after(6000), For: []event.Wait{{Resource: "gpu", Steps: 98, Next: solve(98), Holders: 2}, {Resource: "memory", Steps: 4, Next: solve(120), Holders: 1}}},
		event.ExpectedEnd{At: after(7000), End: after(3_607_000).Time, Unknown: 201})
}

func stateOf(events []event.Event) *State {
	s := NewState()
	for _, e := range events {
		s.Apply(e)
	}
	return s
}

// checkFrame sees that a frame is within the terminal.
func checkFrame(t *testing.T, frame string, width, height int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	if len(lines) > max(1, height-1) {
		t.Errorf("%d lines on a terminal of %d", len(lines), height)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w >= max(2, width) {
			t.Errorf("%d columns on a terminal of %d: %s", w, width, line)
		}
	}
}

func TestLiveFrames(t *testing.T) {
	s := stateOf(liveEvents())
	var out strings.Builder
	for _, tt := range []struct{ width, height int }{{80, 24}, {100, 24}, {100, 10}, {80, 6}} {
		frame := screen(s, Style{}, tt.width, tt.height, after(30_000).Time)
		checkFrame(t, frame, tt.width, tt.height)
		fmt.Fprintf(&out, "-- %d columns, %d lines --\n%s", tt.width, tt.height, frame)
	}
	out.WriteString("-- the expected end has gone by --\n" + strings.SplitAfter(screen(s, Style{}, 80, 24, after(3_700_000).Time), "\n")[0])
	golden(t, "live.txt", out.String())
}

func TestLiveFramesFit(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		events := liveEvents()
		events = append(events,
			event.RunStarted{At: after(0), Run: h.Text, Pipeline: h.Text, Steps: 4, Blocks: []event.Block{{Block: h.Text, Steps: 2}}},
			event.StepStarted{At: after(1), Address: h.Text, Try: 1, Devices: []string{h.Text}},
			event.StepPhase{At: after(2), Address: h.Text, Phase: step.Phase{Name: step.Running, Submission: step.Submission(h.Text), Reason: h.Text}},
			event.StepLog{At: after(2), Address: h.Text, Line: h.Text},
			event.Waiting{At: after(2), For: []event.Wait{{Resource: h.Text, Steps: 1, Next: h.Text}}})
		s := stateOf(events)
		for _, width := range []int{1, 20, 80, 100} {
			for height := 1; height < 40; height += 3 {
				frame := screen(s, Style{}, width, height, after(30_000).Time)
				checkFrame(t, frame, width, height)
				if err := hostiletest.Terminal(frame); err != nil {
					t.Errorf("%s: %v", h.Name, err)
				}
			}
		}
		var out strings.Builder
		emitAll(NewPlainOf(NewState(), &out, Style{}, true), events)
		if err := hostiletest.Terminal(out.String()); err != nil {
			t.Errorf("%s, plain: %v", h.Name, err)
		}
	}
}

// TestPlainTellsLittle lets an agent run for an hour: its submission changes all
// the time, and it is valid, invalid and valid again once each.
func TestPlainTellsLittle(t *testing.T) {
	p := step.Phase{Name: step.Running, Started: after(0).Time, LimitMillis: 3_600_000, Submission: step.SubmissionNone}
	events := []event.Event{
		event.RunStarted{At: after(0), Run: "r1", Pipeline: "p.hcl", Steps: 2},
		event.StepStarted{At: after(0), Address: solve(0), Kind: "agent-run", Try: 1},
	}
	for n := range int64(7) { // data that take seven times 20 seconds to place
		events = append(events, event.StepPhase{At: after(n * 20_000), Address: solve(0), Phase: step.Phase{Name: step.Placing, Files: n, TotalFiles: 6, Bytes: n << 20, TotalBytes: 6 << 20}})
	}
	for second := int64(130); second < 3600; second += 2 {
		switch {
		case second%10 == 0 && second > 1000:
			p.Submission, p.Reason = step.SubmissionUnchecked, ""
		case second > 3000:
			p.Submission = step.SubmissionValid
		case second > 2000:
			p.Submission, p.Reason = step.SubmissionInvalid, "column id is missing"
		case second > 1000:
			p.Submission = step.SubmissionValid
		}
		p.MemoryBytes = second << 20
		events = append(events, event.StepPhase{At: after(second * 1000), Address: solve(0), Phase: p},
			event.Waiting{At: after(second * 1000), For: []event.Wait{{Resource: "gpu", Steps: int(second), Holders: 1}}})
	}
	events = events[:len(events)-1]
	var out strings.Builder
	emitAll(NewPlainOf(NewState(), &out, Style{}, false), events)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	count := map[string]int{}
	for _, line := range lines {
		count[strings.Fields(line)[1]]++
	}
	if count["progress"] != 2 || count["submission"] != 3 || count["status"] != 5 || count["wait"] != 1 {
		t.Errorf("%v in\n%s", count, out.String())
	}
}
