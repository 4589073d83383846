package history

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

const pipeline = "/home/me/demo.hcl"

func at(second int) event.At {
	return event.At{Time: time.Date(2026, 11, 20, 23, 30, second, 0, time.UTC)}
}

func begin(t *testing.T, l *Store, o Opening) *Run {
	t.Helper()
	if o.Info.Pipeline == "" {
		o.Info.Pipeline = pipeline
	}
	r, err := l.Begin(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func find(t *testing.T, l *Store, ref string) *Past {
	t.Helper()
	p, err := l.Find(ref)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRunIsRemembered(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "not yet there"))
	a := addr.Keyed(addr.Step{Kind: "grade", Name: "score"}, "leaf/0")
	pl := &plan.Plan{Pipeline: "demo", Steps: []plan.Step{{
		Address: a, Name: a.String(), Kind: "grade", Action: plan.Deferred,
		Reasons: []plan.Reason{{Field: "raw", From: "a", To: "<b>", Text: "input raw changed"}}, After: []int{}, ExpectedMillis: 7,
	}}}
	pl.Steps[0].After = nil
	info := Info{
		Pipeline: pipeline, Name: "demo", Argv: []string{"mleflow", "apply"}, Version: "0.1.0",
		Variables: map[string]json.RawMessage{"seeds": json.RawMessage("3")}, CPUs: 1.5, MemoryBytes: 1 << 40,
		GPUs: []string{"nvidia.com/gpu=0"}, Started: at(1).Time, Resumed: "20261120T000000Z-0000",
	}
	r := begin(t, l, Opening{Info: info, Plan: pl, Sources: map[string][]byte{
		"demo.hcl": []byte("mleflow {}\n"), "../../sub/x.hcl": []byte("x"), "/abs/y.hcl": []byte("y"),
	}})
	p := find(t, l, "latest")
	info.ID, info.Host, info.OS, info.PID = p.Info.ID, p.Info.Host, p.Info.OS, os.Getpid()
	if d := cmp.Diff(info, p.Info); d != "" || p.Info.Host == "" || p.Info.OS == "" {
		t.Errorf("info (-want +got):\n%s", d)
	}
	if !strings.HasPrefix(r.ID(), "20261120T233001Z-") || r.ID() != p.Info.ID {
		t.Errorf("id %s", r.ID())
	}
	got, err := p.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(pl, got); d != "" {
		t.Errorf("plan (-want +got):\n%s", d)
	}
	sources, err := p.Sources()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"demo.hcl": []byte("mleflow {}\n"), "sub/x.hcl": []byte("x"), "abs/y.hcl": []byte("y")}
	if d := cmp.Diff(want, sources); d != "" {
		t.Errorf("sources (-want +got):\n%s", d)
	}
}

func TestStates(t *testing.T) {
	l := New(t.TempDir())
	for _, tt := range []struct {
		status event.Status
		paused bool
		want   State
	}{{event.Ran, false, Finished}, {event.Failed, false, Failed}, {event.Cancelled, false, Cancelled}, {event.Cancelled, true, Paused}, {event.Ran, true, Finished}, {"", false, Interrupted}} {
		r := begin(t, l, Opening{})
		r.Emit(event.RunStarted{At: at(1), Run: r.ID()})
		if tt.status != "" {
			r.Emit(event.RunFinished{At: at(2), Run: r.ID(), Status: tt.status, Paused: tt.paused})
		} else if got := find(t, l, r.ID()).Entry().State; got != Running {
			t.Errorf("before the end: %s, want running", got)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if got := find(t, l, r.ID()).Entry().State; got != tt.want {
			t.Errorf("status %q: %s, want %s", tt.status, got, tt.want)
		}
	}
}

// The end is found behind a long journal, and not in what others say.
func TestFinishIsFound(t *testing.T) {
	l := New(t.TempDir())
	r := begin(t, l, Opening{})
	fake := `{"type":"run_finished","time":"2026-11-20T23:30:01Z","status":"ran"}`
	long := event.Warning{At: at(1), Message: strings.Repeat(fake+"\n", 10_000)}
	r.Emit(long)
	if e := find(t, l, r.ID()).Entry(); e.Finish != nil {
		t.Fatalf("found an end in a message: %+v", e.Finish)
	}
	r.Emit(event.RunFinished{At: at(2), Run: r.ID(), Status: event.Failed, Failed: 3})
	if e := find(t, l, r.ID()).Entry(); e.State != Failed || e.Finish == nil || e.Finish.Failed != 3 {
		t.Errorf("entry %+v", e)
	}
}

// A run that cannot be read is told of, not hidden behind an older one.
func TestUnreadableRun(t *testing.T) {
	l := New(t.TempDir())
	const older, newer = "20261120T000001Z-00aa", "20261121T000000Z-0000"
	begin(t, l, Opening{Info: Info{ID: older, Started: at(1).Time}})
	begin(t, l, Opening{Info: Info{ID: newer, Started: at(2).Time}})
	damaged := filepath.Join(l.runs(), newer, "run.json")
	if err := errors.Join(os.Chmod(damaged, 0o644), os.WriteFile(damaged, []byte("{"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"latest", newer} {
		if _, err := l.Find(ref); err == nil || !strings.Contains(err.Error(), newer) {
			t.Errorf("Find(%q): %v, want an error about %s", ref, err, newer)
		}
	}
	got, err := l.List()
	if err != nil || len(got) != 2 || got[0].ID != newer || got[0].State != Unreadable || got[0].Started.Day() != 21 || got[1].ID != older {
		t.Errorf("List: %+v, %v", got, err)
	}
}

// A run that began when the clock was ahead is not the latest after it was set right.
func TestRunOfTheFuture(t *testing.T) {
	l := New(t.TempDir())
	now := time.Now().UTC()
	var ids []string
	for _, started := range []time.Time{now.AddDate(0, 0, -1), now, now.AddDate(0, 0, 2)} {
		ids = append(ids, started.Format(idLayout)+"-0000")
		begin(t, l, Opening{Info: Info{ID: ids[len(ids)-1], Started: started}})
	}
	p, err := l.Find("latest")
	if err != nil || p.Info.ID != ids[1] {
		t.Errorf("latest: %v, %v, want %s", p, err, ids[1])
	}
	list, err := l.List()
	if err != nil || len(list) != 3 || list[0].ID != ids[1] || list[2].ID != ids[2] {
		t.Errorf("List: %+v, %v", list, err)
	}
}

func TestFind(t *testing.T) {
	l := New(t.TempDir())
	for _, ref := range []string{"", "latest", "2026"} {
		if _, err := l.Find(ref); !errors.Is(err, ErrNoRun) {
			t.Errorf("Find(%q) in an empty history: %v", ref, err)
		}
	}
	if got, err := l.List(); err != nil || len(got) != 0 {
		t.Errorf("List of an empty history: %v, %v", got, err)
	}
	for i, id := range []string{"20261120T000001Z-00aa", "20261120T000001Z-00ab", "20261121T000000Z-0000"} {
		begin(t, l, Opening{Info: Info{ID: id, Started: at(i).Time}})
	}
	if err := os.MkdirAll(filepath.Join(l.runs(), "30000101T000000Z-0000"), 0o777); err != nil { // no run
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"":                       "20261121T000000Z-0000",
		"latest":                 "20261121T000000Z-0000",
		"20261121":               "20261121T000000Z-0000",
		"20261120T000001Z-00ab":  "20261120T000001Z-00ab",
		"20261120T000001Z-00":    `find run "20261120T000001Z-00": 2 runs start with it, the newest is 20261120T000001Z-00ab; write more of the id`,
		"2025":                   `find run "2025": no such run`,
		"20261120T000001Z-00aaa": `find run "20261120T000001Z-00aaa": no such run`,
	} {
		p, err := l.Find(ref)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = p.Info.ID
		}
		if got != want {
			t.Errorf("Find(%q) = %s, want %s", ref, got, want)
		}
	}
	list, err := l.List()
	if err != nil || len(list) != 3 || list[0].ID != "20261121T000000Z-0000" || list[2].ID != "20261120T000001Z-00aa" {
		t.Errorf("List = %+v, %v", list, err)
	}
	if _, err := l.Begin(Opening{Info: Info{ID: "20261121T000000Z-0000", Pipeline: pipeline}}); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second run of the same id: %v", err)
	}
}

func TestIDsSortByTime(t *testing.T) {
	base := time.Date(2026, 11, 20, 23, 59, 59, 0, time.FixedZone("", 3600))
	last := ""
	for ms := range 1500 {
		id := newID(base.Add(time.Duration(ms) * time.Millisecond))
		if id <= last || len(id) != len("20261120T233000Z-4f3a") {
			t.Fatalf("id %s after %s", id, last)
		}
		last = id
	}
}

// Many runs beginning in the same instant all get ids.
func TestIDsAreUnique(t *testing.T) {
	l := New(t.TempDir())
	for range 80 {
		begin(t, l, Opening{Info: Info{Started: at(0).Time}})
	}
	if list, err := l.List(); err != nil || len(list) != 80 {
		t.Errorf("%d runs, want 80 (%v)", len(list), err)
	}
}

// someEvents are what a small run emits.
func someEvents() []event.Event {
	const a, b, c = "step.exec.a", `step.exec.b["x"]`, "step.exec.c"
	return []event.Event{
		event.RunStarted{At: at(0), Run: "r", Steps: 3},
		event.StepStarted{At: at(1), Address: a, Kind: "exec", Try: 1},
		event.StepLog{At: at(1), Address: a, Line: "hello"},
		event.StepProgress{At: at(1), Address: a, Progress: step.Progress{Done: 1, Unit: "rows"}},
		event.StepProgress{At: at(2), Address: a, Progress: step.Progress{Done: 2, Unit: "rows"}},
		event.StepRetry{At: at(3), Address: a, Try: 1, WaitMillis: 1000, Error: "connection reset"},
		event.StepStarted{At: at(4), Address: a, Kind: "exec", Try: 2, Devices: []string{"gpu0"}},
		event.StepFinished{At: at(6), Address: a, Kind: "exec", Status: event.Ran, Action: "abc", LastTry: 2, DurationMillis: 2000, Outputs: map[string]string{"out": "1f"}},
		event.StepStarted{At: at(6), Address: b, Kind: "exec", Try: 1},
		event.Warning{At: at(7), Address: b, Message: "slow"},
		event.StepFinished{At: at(8), Address: b, Kind: "exec", Status: event.Failed, LastTry: 1, DurationMillis: 2000, Error: "exit status 1"},
		event.StepFinished{At: at(8), Address: c, Kind: "exec", Status: event.Skipped, Error: b},
		event.OutputValue{At: at(9), Name: "board", Value: "none"},
		event.RunFinished{At: at(9), Run: "r", Status: event.Failed, Ran: 1, Failed: 1, Skipped: 1},
	}
}

// TestTook measures instances that ended, that run, and that a kill ended.
func TestTook(t *testing.T) {
	now := at(20).Time
	for name, tt := range map[string]struct {
		state State
		of    StepSummary
		want  time.Duration
	}{
		"ended":         {Failed, StepSummary{StepFinished: event.StepFinished{Status: event.Ran}, Started: at(1).Time, Ended: at(4).Time, Duration: time.Second}, 3 * time.Second},
		"never started": {Failed, StepSummary{StepFinished: event.StepFinished{Status: event.Skipped}, Ended: at(4).Time}, 0},
		"running":       {Running, StepSummary{Started: at(5).Time}, 15 * time.Second},
		"killed":        {Interrupted, StepSummary{Started: at(5).Time}, 4 * time.Second},
	} {
		s := &Summary{Entry: Entry{State: tt.state}, Run: event.Run{Last: at(9).Time}}
		if got := s.Took(&tt.of, now); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	l := New(t.TempDir())
	r := begin(t, l, Opening{})
	for _, e := range someEvents() {
		r.Emit(e)
	}
	got, err := find(t, l, r.ID()).Summary()
	if err != nil {
		t.Fatal(err)
	}
	end := event.RunFinished{At: at(9), Run: "r", Status: event.Failed, Ran: 1, Failed: 1, Skipped: 1}
	want := &Summary{
		Entry: Entry{Info: r.info, State: Failed, Finish: &end},
		Run: event.Run{
			Start: event.RunStarted{At: at(0), Run: "r", Steps: 3}, End: &end, Last: at(9).Time,
			Counts:   map[event.Status]int{event.Ran: 1, event.Failed: 1, event.Skipped: 1},
			Outputs:  []event.OutputValue{{At: at(9), Name: "board", Value: "none"}},
			Warnings: []event.Warning{{At: at(7), Address: `step.exec.b["x"]`, Message: "slow"}},
			Running:  map[string]*event.Execution{},
		},
		Steps: []StepSummary{
			{StepFinished: event.StepFinished{Address: "step.exec.a", Kind: "exec", Status: event.Ran, Action: "abc", LastTry: 2, DurationMillis: 2000, Outputs: map[string]string{"out": "1f"}},
				First: at(1).Time, Started: at(4).Time, Ended: at(6).Time, Duration: 2 * time.Second, Devices: []string{"gpu0"},
				Retries: []event.StepRetry{{At: at(3), Address: "step.exec.a", Try: 1, WaitMillis: 1000, Error: "connection reset"}}},
			{StepFinished: event.StepFinished{Address: `step.exec.b["x"]`, Kind: "exec", Status: event.Failed, LastTry: 1, DurationMillis: 2000, Error: "exit status 1"},
				First: at(6).Time, Started: at(6).Time, Ended: at(8).Time, Duration: 2 * time.Second},
			{StepFinished: event.StepFinished{Address: "step.exec.c", Kind: "exec", Status: event.Skipped, Error: `step.exec.b["x"]`}, Ended: at(8).Time},
		},
	}
	want.User = nolink.UserName(os.Geteuid())
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got.Step("step.exec.c") != &got.Steps[2] || got.Step("step.exec.d") != nil {
		t.Error("Step finds the wrong instance")
	}
	if exec, err := find(t, l, r.ID()).Summary("exec"); err != nil || cmp.Diff(got, exec) != "" {
		t.Errorf("of kind exec, error %v (-all +exec):\n%s", err, cmp.Diff(got, exec))
	}
	other, err := find(t, l, r.ID()).Summary("other")
	if err != nil || other.Step("step.exec.a").Action != "" || other.Step("step.exec.c") != nil || !cmp.Equal(got.Outputs, other.Outputs) {
		t.Errorf("without the kind: %+v, %v", other, err)
	}
}

// The journal has the events but lines of logs and most progress.
func TestEvents(t *testing.T) {
	l := New(t.TempDir())
	r := begin(t, l, Opening{})
	var want []event.Event
	for i, e := range someEvents() {
		r.Emit(e)
		if i != 2 && i != 4 {
			want = append(want, e)
		}
	}
	var got []event.Event
	for e, err := range find(t, l, r.ID()).Events() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A journal cut off anywhere reads as the whole lines before the cut; one
// with garbage inside as the lines around it.
func TestTornJournal(t *testing.T) {
	l := New(t.TempDir())
	r := begin(t, l, Opening{})
	for _, e := range someEvents() {
		r.Emit(e)
	}
	r.Close()
	p := find(t, l, r.ID())
	whole, err := os.ReadFile(p.journal())
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(whole) - 1; cut >= 0; cut-- {
		if err := os.Truncate(p.journal(), int64(cut)); err != nil {
			t.Fatal(err)
		}
		s, err := p.Summary()
		if err != nil {
			t.Fatal(err)
		}
		events := 0
		for range p.Events() {
			events++
		}
		if want := strings.Count(string(whole[:cut]), "\n"); events != want || s.Unreadable != 0 || s.State != Interrupted {
			t.Fatalf("cut at %d: %d events, want %d; %d unreadable, state %s", cut, events, want, s.Unreadable, s.State)
		}
	}
	first, rest, _ := strings.Cut(string(whole), "\n")
	write(t, p.journal(), []byte(first+"\n\x00\x00{\n"+`{"type":"from_the_future","time":"2030-01-01T00:00:00Z"}`+"\n"+rest))
	if s, err := p.Summary(); err != nil || s.Unreadable != 2 || len(s.Steps) != 3 || s.State != Failed {
		t.Errorf("with garbage: %+v, %v", s, err)
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// What was executed is in the journal as soon as Emit returns; a journal that
// cannot be written says so and stops.
func TestFlush(t *testing.T) {
	l := New(t.TempDir())
	r := begin(t, l, Opening{})
	events := func() int {
		n := 0
		for range find(t, l, r.ID()).Events() {
			n++
		}
		return n
	}
	r.Emit(event.StepFinished{At: at(1), Status: event.Cached})
	if n := events(); n != 0 {
		t.Errorf("%d events, a cached step is not worth a write", n)
	}
	r.Emit(event.StepFinished{At: at(1), Status: event.Ran})
	if n := events(); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
	r.journal.Close()
	r.Emit(event.Warning{At: at(2)})
	if err := r.err; err == nil || !strings.HasPrefix(err.Error(), "write journal: ") {
		t.Errorf("error %v", err)
	}
	if err := r.Close(); err == nil {
		t.Error("Close tells nothing of the failed write")
	}
	r.Emit(event.Warning{At: at(3)}) // does nothing
}

func TestBeginFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, nil)
	if _, err := New(file).Begin(Opening{}); err == nil || !strings.HasPrefix(err.Error(), "begin run: ") {
		t.Errorf("error %v", err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pipelines"), nil)
	if _, err := New(dir).Begin(Opening{}); err == nil {
		t.Error("no error")
	}
	if left, err := os.ReadDir(filepath.Join(dir, "runs")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFactsMeanwhile begins a run while its facts are still being collected. They are
// in run.json once it is closed.
func TestFactsMeanwhile(t *testing.T) {
	l := New(t.TempDir())
	known := make(chan struct{})
	l.Describe(func() map[string]string {
		<-known
		return map[string]string{"processor": "fast"}
	})
	r := begin(t, l, Opening{})
	if got := find(t, l, r.ID()).Info.Environment; got != nil {
		t.Errorf("at the beginning: %v", got)
	}
	close(known)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	past := find(t, l, r.ID())
	if past.Info.Environment["processor"] != "fast" || past.Info.Pipeline != pipeline {
		t.Errorf("at the end: %+v", past.Info)
	}
}
