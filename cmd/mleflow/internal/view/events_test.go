package view

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

var testStart = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

func after(ms int64) event.At {
	return event.At{Time: testStart.Add(time.Duration(ms) * time.Millisecond)}
}

const (
	raw    = `step.download.raw["digits"]`
	solve0 = `step.agent-run.solve["digits/dummy/0"]`
	solve1 = `step.agent-run.solve["digits/baseline/0"]`
	score1 = `step.grade.score["digits/baseline/0"]`
)

// storyEvents is a run with every kind of event: a cached step, a retry, a
// failure, what depends on it, warnings and outputs.
func storyEvents() []event.Event {
	return []event.Event{
		event.RunStarted{At: after(0), Run: "r1", Pipeline: "demo.hcl", Steps: 5, ToRun: 2, Cached: 1, Deferred: 2, Resumed: "r0", ExpectedMillis: 90_000},
		event.Preflight{At: after(1), Address: raw, Subject: "digits", Place: "kaggle", Bytes: 12 << 20, Files: 3, NeedBytes: 24 << 20, Credential: "ok", Rules: "ok", Verdict: event.PreflightOK},
		event.Preflight{At: after(1), Address: "step.download.whales", Subject: "whales", Place: "kaggle", Bytes: 1 << 30, NeedBytes: 2 << 30, Credential: "ok", Rules: "missing",
			Link: "https://www.kaggle.com/competitions/whales/rules", Verdict: event.PreflightFailed, Error: "rules not\naccepted"},
		event.Preflight{At: after(1), Address: "step.download.birds", Subject: "birds", Place: "mirror", Verdict: event.PreflightUnknown, Error: "the server answers 503"},
		event.PreflightFinished{At: after(1), OK: 1, Failed: 1, Unknown: 1, Bytes: 12 << 20, NeedBytes: 24 << 20},
		event.StepFinished{At: after(1), Address: "step.checksum.data", Kind: "checksum", Status: event.Cached},
		event.StepStarted{At: after(2), Address: raw, Kind: "download", Try: 1, CPUs: 1},
		event.StepWaiting{At: after(3), Address: raw, Bytes: 24 << 20, Message: "24 MiB of disk space, which running steps have reserved"},
		event.StepProgress{At: after(500), Address: raw, Progress: step.Progress{What: "digits.zip", Done: 1 << 20, Total: 12 << 20, Unit: "bytes"}},
		event.StepProgress{At: after(1500), Address: raw, Progress: step.Progress{What: "digits.zip", Done: 3 << 20, Total: 12 << 20, Unit: "bytes"}},
		event.StepRetry{At: after(1600), Address: raw, Try: 1, WaitMillis: 2000, Error: "fetch digits.zip: connection\nreset"},
		event.StepStarted{At: after(3600), Address: raw, Kind: "download", Try: 2, CPUs: 1},
		event.Warning{At: after(3700), Address: raw, Message: "the server knows no ranges: starting over"},
		event.StepFinished{At: after(9000), Address: raw, Kind: "download", Status: event.Ran, LastTry: 2, DurationMillis: 8998},
		event.StepStarted{At: after(9001), Address: solve0, Kind: "agent-run", Try: 1, CPUs: 4, MemoryBytes: 8 << 30, Devices: []string{"gpu0"}},
		event.StepStarted{At: after(9002), Address: solve1, Kind: "agent-run", Try: 1, CPUs: 4, ExpectedMillis: 65_000},
		event.StepLog{At: after(9500), Address: solve1, Line: "loading train.csv"},
		event.StepLog{At: after(9600), Address: solve1, Line: "\x1b[31mTraceback\x1b[0m"},
		event.StepProgress{At: after(9700), Address: solve0, Progress: step.Progress{Done: 40, Unit: "rows"}},
		event.StepFinished{At: after(75_000), Address: solve1, Kind: "agent-run", Status: event.Failed, LastTry: 1, DurationMillis: 65_998, Error: "run agent: exit status 1"},
		event.StepFinished{At: after(75_001), Address: score1, Kind: "grade", Status: event.Skipped, Error: solve1},
		event.StepFinished{At: after(76_000), Address: solve0, Kind: "agent-run", Status: event.Cancelled},
		event.Warning{At: after(76_500), Message: "the cache is 95 % full"},
		event.OutputValue{At: after(76_600), Name: "board", Value: "agent  medals\ndummy  0\n"},
		event.OutputValue{At: after(76_601), Name: "seeds", Value: "3"},
		event.RunFinished{At: after(77_000), Run: "r1", Status: event.Failed, Ran: 1, Cached: 1, Failed: 1, Skipped: 1, Cancelled: 1, DurationMillis: 77_000},
	}
}

func emitAll(sink event.Sink, events []event.Event) {
	for _, e := range events {
		sink.Emit(e)
	}
}

func TestPlain(t *testing.T) {
	for _, tt := range []struct {
		file    string
		verbose bool
	}{{"plain.txt", false}, {"plain_verbose.txt", true}} {
		var out bytes.Buffer
		emitAll(NewPlainOf(NewState(), &out, Style{}, tt.verbose), storyEvents())
		golden(t, tt.file, out.String())
		for line := range strings.Lines(out.String()) {
			if strings.ContainsRune(line, '\x1b') {
				t.Errorf("control character in %q", line)
			}
		}
	}
}

func TestJSONDecodesBack(t *testing.T) {
	var out bytes.Buffer
	sink := NewJSON(&out)
	emitAll(sink, storyEvents())
	golden(t, "events.jsonl", out.String())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, e := range storyEvents() {
		back, err := event.Decode([]byte(lines[i]))
		if err != nil {
			t.Fatal(err)
		}
		if event.TypeOf(back) != event.TypeOf(e) || !back.When().Equal(e.When()) {
			t.Errorf("line %d: got %s at %s", i, event.TypeOf(back), back.When())
		}
	}
	if sink.Err() != nil {
		t.Error(sink.Err())
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestJSONKeepsWriteError(t *testing.T) {
	sink := NewJSON(brokenPipe{})
	emitAll(sink, storyEvents())
	if sink.Err() == nil {
		t.Error("the error in writing is lost")
	}
}

func TestSummary(t *testing.T) {
	state := NewState()
	for _, e := range storyEvents() {
		state.Apply(e)
	}
	var out bytes.Buffer
	Summary(&out, state, Style{})
	Outputs(&out, "r1", state.Outputs, Style{})
	golden(t, "summary.txt", out.String())
}

func TestClosingLines(t *testing.T) {
	tests := []struct {
		name   string
		finish event.RunFinished
		want   string
	}{
		{"all ran", event.RunFinished{Status: event.Ran, Ran: 3, Cached: 2, DurationMillis: 1234}, "Done: 3 ran, 2 cached in 1.23s."},
		{"nothing ran", event.RunFinished{Status: event.Ran, Cached: 1500}, "Nothing to do: all 1,500 steps are cached."},
		{"one step", event.RunFinished{Status: event.Ran, Cached: 1}, "Nothing to do: the only step is cached."},
		{"no step", event.RunFinished{Status: event.Ran}, "Nothing to do: the pipeline has no steps."},
		{"paused", event.RunFinished{Run: "r1", Status: event.Cancelled, Paused: true, Ran: 1, Cancelled: 2}, "Paused: 1 ran, 0 cached, 2 cancelled in 0.00s. mleflow runs continue r1 resumes it."},
		{"stopped", event.RunFinished{Status: event.Cancelled, Ran: 1, Cancelled: 2}, "Interrupted: 1 ran, 0 cached, 2 cancelled in 0.00s. Run apply again to continue."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewState()
			s.Apply(tt.finish)
			if got := closingLine(s, Style{}); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestScreen(t *testing.T) {
	story := storyEvents()
	var out strings.Builder
	for _, tt := range []struct {
		title         string
		events        int
		width, height int
		at            int64
	}{
		{"waiting for space", 8, 100, 24, 100},
		{"downloading", 10, 100, 24, 1550},
		{"waiting for the next attempt", 11, 100, 24, 1700},
		{"two agents", 19, 100, 24, 30_000},
		{"two agents, narrow and low", 19, 40, 4, 30_000},
	} {
		s := NewState()
		for _, e := range story[:tt.events] {
			s.Apply(e)
		}
		text := screen(s, Style{}, tt.width, tt.height, after(tt.at).Time)
		out.WriteString("-- " + tt.title + " --\n" + text)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) >= tt.height+1 {
			t.Errorf("%s: %d lines on a terminal of %d", tt.title, len(lines), tt.height)
		}
		for _, line := range lines {
			if w := ansi.StringWidth(line); w >= tt.width {
				t.Errorf("%s: %d columns on a terminal of %d: %s", tt.title, w, tt.width, line)
			}
		}
	}
	golden(t, "screen.txt", out.String())
}

func TestScreenNeverExceedsTerminal(t *testing.T) {
	s := NewState()
	s.Apply(event.RunStarted{At: after(0), Run: "r", Pipeline: "p.hcl", Steps: 100})
	for i := range 100 {
		s.Apply(event.StepStarted{At: after(int64(i)), Address: strings.Repeat("界", i), Try: 1})
	}
	for height := 3; height < 30; height++ {
		for _, width := range []int{1, 2, 13, 80} {
			lines := strings.Split(strings.TrimSuffix(screen(s, Style{on: true}, width, height, after(5000).Time), "\n"), "\n")
			if len(lines) > height-1 {
				t.Fatalf("%d lines on %d rows", len(lines), height)
			}
			for _, line := range lines {
				if w := ansi.StringWidth(line); w > width {
					t.Fatalf("%d columns on %d: %q", w, width, line)
				}
			}
		}
	}
}
