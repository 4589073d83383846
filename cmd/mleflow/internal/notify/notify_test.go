package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// TestMain lets receivers start this test's own binary as mleflow.
func TestMain(m *testing.M) {
	patience = 2 * time.Minute // for machines under load
	if len(os.Args) > 1 && os.Args[1] == Command {
		os.Exit(Main(nil))
	}
	os.Exit(m.Run())
}

func at(seconds int64) event.At { return event.At{Time: time.Unix(seconds, 0)} }

func newFacts(percents ...int64) *facts {
	return &facts{percents: percents, paid: map[string]int64{}, told: map[string]time.Time{}, limits: map[string]int64{wholeRun: 10e9, "a": 2e9, "free": 0}}
}

// TestLook: what is told of which event, and what only on request.
func TestLook(t *testing.T) {
	graded := func(outputs map[string]string) event.StepFinished {
		return event.StepFinished{Address: "g", Kind: "grade", Status: event.Ran, Outputs: outputs}
	}
	for name, test := range map[string]struct {
		events []event.Event
		want   []note
	}{
		"a step that failed":     {[]event.Event{event.StepFinished{Address: "a", Status: event.Failed, Error: "agent says: no"}}, []note{{"failed", "a", "agent says: no"}}},
		"a step that is skipped": {[]event.Event{event.StepFinished{Address: "a", Status: event.Skipped}}, nil},
		"a score":                {[]event.Event{graded(map[string]string{"outcome": `"scored"`, "score": "0.9994121105", "medal": `"none"`})}, []note{{kind: "attempt scored", text: "g: 0.999412"}}},
		"a medal":                {[]event.Event{graded(map[string]string{"outcome": `"scored"`, "score": "1", "medal": `"gold"`})}, []note{{kind: "attempt scored", text: "g: 1"}, {kind: "medal", text: "g: gold"}}},
		"no score":               {[]event.Event{graded(map[string]string{"outcome": `"invalid"`, "score": "null", "reason": `"agent"`})}, []note{{kind: "attempt scored", text: "g: invalid"}}},
		"a cached grade":         {[]event.Event{event.StepFinished{Address: "g", Kind: "grade", Status: event.Cached, Outputs: map[string]string{"score": "1"}}}, nil},
		"an agent's full disk":   {[]event.Event{event.StepFinished{Address: "a", Kind: "agent-run", Status: event.Ran, Outputs: map[string]string{"outcome": `"out_of_disk"`}}}, []note{{kind: "disk", text: "a ran out of disk space"}}},
		"disk space": {[]event.Event{event.StepWaiting{At: at(1), Address: "a", Bytes: 1 << 30}, event.StepWaiting{At: at(2), Address: "a", Bytes: 1 << 30}},
			[]note{{kind: "disk", text: "a waits for 1.0 GiB of disk space"}}},
		"another process": {[]event.Event{event.StepWaiting{At: at(1), Address: "a"}}, []note{{kind: "waiting", text: "a waits for another process, which runs the same"}}},
		"resources": {[]event.Event{event.Waiting{At: at(1), For: []event.Wait{{Resource: "cpu", Steps: 3}, {Resource: "gpu", Steps: 2, Elsewhere: true}, {Resource: "disk", Steps: 1}}}},
			[]note{{kind: "waiting", text: "2 steps wait for gpu, which other processes hold"}, {kind: "disk", text: "1 step waits for disk space"}}},
		"the same wait after an hour": {[]event.Event{event.Waiting{At: at(1), For: []event.Wait{{Resource: "disk", Steps: 1}}}, event.Waiting{At: at(3599), For: []event.Wait{{Resource: "disk", Steps: 2}}}, event.Waiting{At: at(3601), For: []event.Wait{{Resource: "disk", Steps: 3}}}},
			[]note{{kind: "disk", text: "1 step waits for disk space"}, {kind: "disk", text: "3 steps wait for disk space"}}},
		"jobs": {[]event.Event{event.StepJob{At: at(1), On: "lab", State: event.JobPending, Reason: "Priority"}, event.StepJob{At: at(2), On: "lab", State: event.JobPending, Reason: "Priority"}, event.StepJob{At: at(2), On: "lab", State: event.JobRunning, Reason: "x"}},
			[]note{{"waiting", "jobs on lab have not started", "Priority"}}},
		"nothing ran": {[]event.Event{event.RunFinished{Status: event.Ran, Cached: 31}}, nil},
		"an end":      {[]event.Event{event.RunFinished{Status: event.Failed, Ran: 3, Failed: 1, Skipped: 2, DurationMillis: 90_000}}, []note{{kind: "finished", text: "failed after 1m30s: 3 ran, 1 failed, 2 skipped"}}},
		"a pause":     {[]event.Event{event.RunFinished{Status: event.Cancelled, Paused: true, Cancelled: 1}}, []note{{kind: "finished", text: "paused after 0.00s: 1 cancelled"}}},
		"the rest":    {[]event.Event{event.StepLog{Line: "x"}, event.Warning{Message: "x"}, event.StepProgress{}}, nil},
	} {
		f := newFacts()
		var got []note
		for _, e := range test.events {
			got = append(got, f.look(e)...)
		}
		if d := cmp.Diff(test.want, got, cmp.AllowUnexported(note{})); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}

// TestKinds tells a stall with its evidence, not its end, and has words for every kind.
func TestKinds(t *testing.T) {
	f := newFacts()
	got := f.look(event.Stalled{At: at(1), Address: "step.a"})
	if len(got) != 1 || got[0].kind != "stalled" || !strings.HasPrefix(got[0].text, "step.a: no request to a model") {
		t.Error(got)
	}
	if got := f.look(event.Stalled{At: at(2), Address: "step.a", Stall: step.Stall{Over: true}}); got != nil {
		t.Error(got)
	}
	for kind := range kinds {
		if !slices.ContainsFunc(config.NotifyKinds, func(k string) bool { return strings.HasPrefix(k, kind) }) {
			t.Errorf("%s is no kind of the language", kind)
		}
	}
	for _, kind := range config.NotifyKinds {
		if name, _, _ := strings.Cut(kind, " "); kinds[kind] == (struct{ noun, look string }{}) && kinds[name].noun == "" {
			t.Errorf("%s has no words", kind)
		}
	}
}

// TestBudgets: each percentage of each budget is told once.
func TestBudgets(t *testing.T) {
	f := newFacts(50, 80)
	spend := func(address string, cost int64) (texts []string) {
		for _, n := range f.look(event.StepPhase{At: at(1), Address: address, Phase: step.Phase{Spent: step.Spent{Cost: cost}}}) {
			texts = append(texts, n.kind+": "+n.text)
		}
		return texts
	}
	for _, test := range []struct {
		address string
		cost    int64
		want    []string
	}{
		{"a", 0, nil}, {"a", 999_999_999, nil}, {"a", 1e9, []string{"budget 50%: a has spent 1 of 2 USD"}}, {"a", 1.1e9, nil},
		{"free", 3.9e9, []string{"budget 50%: the run has spent 5 of 10 USD"}}, {"a", 1, nil},
		{"a", 2e9, []string{"budget 80%: a has spent 2 of 2 USD"}},
	} {
		if d := cmp.Diff(test.want, spend(test.address, test.cost)); d != "" {
			t.Errorf("%s %d: %s", test.address, test.cost, d)
		}
	}
}

// TestLimits reads the budgets of a pipeline.
func TestLimits(t *testing.T) {
	e, err := app.NewApp(&app.Terminal{}).BareEngine()
	if err != nil {
		t.Fatal(err)
	}
	limits := func(budgets string) map[string]int64 {
		p, diags := e.Parse("p.hcl", []byte(`
model "main" {
  provider = "openai"
  base_url = "http://127.0.0.1:1/v1"
  models   = ["*"]
  price "*" {
    input  = "1 USD"
    output = "1 USD"
  }
  `+budgets+`
}
agent "a" {
  command = ["true"]
  models  = [model.main]
}
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  for_each    = toset(["1", "2"])
  agent       = agent.a
  competition = "demo-digits"
  data        = step.prepare.data.public
  seed        = 1
  runtime     = "process"
  timeout     = "1m"
}
`), config.Inputs{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return limitsOf(p)
	}
	first, second := `step.agent-run.solve["1"]`, `step.agent-run.solve["2"]`
	got := limits(`
  budget { cost = "2 USD" }
  run_budget { cost = "3.5 USD" }`)
	if d := cmp.Diff(map[string]int64{wholeRun: 3.5e9, first: 2e9, second: 2e9}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int64{wholeRun: 0, first: 0, second: 0}, limits("")); d != "" {
		t.Error(d)
	}
}

// collected are the messages to a teller without a process.
func collected(t *testing.T, r Receiver) (*Run, func() []Message) {
	t.Helper()
	run := New([]Receiver{r}, nil)
	var got []Message
	run.tellers[0].send = func(_ context.Context, m Message) error {
		got = append(got, m)
		return nil
	}
	return run, func() []Message { return got }
}

// TestGroups: 10,000 events in a second are one message, what follows within a minute another,
// and no more than a few notes are held. The last message has all that is left.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, got := collected(t, Receiver{Name: "r", On: []string{"failed", "attempt scored", "finished"}})
		scored := func(n int) {
			for i := range n {
				run.Emit(event.StepFinished{Address: fmt.Sprintf("g[%d]", i), Kind: "grade", Status: event.Ran, Outputs: map[string]string{"score": "1"}})
			}
		}
		run.Emit(event.RunStarted{At: event.Now(), Run: "R", Pipeline: "/home/x/p.hcl"})
		scored(1)
		time.Sleep(time.Second)
		synctest.Wait()
		want := []Message{{Kind: "attempt scored", Pipeline: "p.hcl", Run: "R", Count: 1, Title: "mleflow p.hcl: 1 scored attempt", Text: "g[0]: 1\nmleflow leaderboard R"}}
		if d := cmp.Diff(want, got()); d != "" {
			t.Fatal(d)
		}
		scored(10_000)
		time.Sleep(pause - 2*time.Second)
		synctest.Wait()
		teller := run.tellers[0]
		teller.mu.Lock()
		if g := teller.pending["attempt scored"]; g == nil || g.count != 10_000 || len(g.first) != most || len(got()) != 1 {
			t.Errorf("held: %+v", g)
		}
		teller.mu.Unlock()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if m := got()[1:]; len(m) != 1 || m[0].Count != 10_000 || m[0].Title != "mleflow p.hcl: 10,000 scored attempts" || !strings.HasSuffix(m[0].Text, "g[9]: 1\nand 9,990 more\nmleflow leaderboard R") {
			t.Fatalf("%+v", m)
		}
		run.Emit(event.StepFinished{Address: "a", Status: event.Failed, Error: "hidden"})
		time.Sleep(time.Second)
		synctest.Wait()
		scored(1)
		run.Emit(event.StepFinished{Address: "b", Status: event.Failed})
		run.Emit(event.RunFinished{Run: "R", Status: event.Failed, Ran: 10_000, Failed: 2})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(got()) != 3 {
			t.Fatalf("%+v", got()[3:])
		}
		if failed := run.Close(time.Second); failed != nil {
			t.Error(failed)
		}
		want = []Message{
			{Kind: "failed", Pipeline: "p.hcl", Run: "R", Count: 1, Title: "mleflow p.hcl: 1 failed step", Text: "a\nmleflow show R"},
			{
				Kind: "finished", Pipeline: "p.hcl", Run: "R", Count: 1, Title: "mleflow p.hcl: failed after 0.00s: 10000 ran, 2 failed",
				Text: "mleflow show R\n\n1 failed step\nb\nmleflow show R\n\n1 scored attempt\ng[0]: 1\nmleflow leaderboard R",
			},
		}
		if d := cmp.Diff(want, got()[2:]); d != "" {
			t.Error(d)
		}
	})
}

// TestSlow: a receiver that takes nothing delays neither the run nor its end.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, _ := collected(t, Receiver{Name: "slow", On: []string{"failed"}})
		other, got := collected(t, Receiver{Name: "fast", On: []string{"failed"}})
		run.tellers = append(run.tellers, other.tellers[0])
		close(other.ending)
		run.tellers[0].send = func(ctx context.Context, _ Message) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		began := time.Now()
		for range 1000 {
			run.Emit(event.StepFinished{Address: "a", Status: event.Failed})
		}
		if time.Since(began) > 0 {
			t.Error("the run waited")
		}
		failed := run.Close(5 * time.Second)
		if len(failed) != 1 || !strings.Contains(failed[0], "notify slow: ") || !strings.HasSuffix(failed[0], "the last message did not arrive within 5s") || time.Since(began) > 6*time.Second {
			t.Error(failed, time.Since(began))
		}
		_ = got
		other.stop(nil)
	})
}

// TestAgentText: text of agents is left out unless asked for, and can do no harm then.
func TestAgentText(t *testing.T) {
	for _, asked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			run, got := collected(t, Receiver{Name: "r", On: []string{"failed"}, AgentText: asked})
			run.Emit(event.StepFinished{Address: "a", Status: event.Failed, Error: "ignore \x1b[31mall\r\n@everyone <https://evil|click>" + strings.Repeat("x", 1<<20)})
			_ = run.Close(time.Second)
			text, _, _ := strings.Cut(got()[0].Text, "\nmleflow show")
			want := "a"
			if asked {
				want = "a: ignore all  (at)everyone (https://evil|click)xxx"
			}
			if !strings.HasPrefix(text, want) || !asked && text != want || len(text) > longest+20 {
				t.Errorf("%q", text)
			}
		})
	}
}

// TestRead: what is wrong with a configuration, without its addresses.
func TestRead(t *testing.T) {
	write := func(t *testing.T, text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "config.hcl")
		if err := os.Chmod(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	list, _, diags := Read(write(t, `
notify "team" {
  on = ["failed", "budget 75%"]
  to = "slack://hook:A-B-C@webhook"
}
notify "mine" {
  command    = ["./tell"]
  agent_text = true
}
notify "asked" {
  on = []
  to = "env:X"
}
`, 0o644))
	if diags.HasErrors() || len(list) != 3 || list[1].dir == "" || !list[1].AgentText {
		t.Fatal(list, diags)
	}
	chosen, missing, err := list.Chosen([]config.Notify{{Name: "mine", On: []string{"medal"}}, {Name: "nobody"}}, []string{"asked", "ntfy://ntfy.sh/topic123", "env:Y"}, "")
	if err != nil || !slices.Equal(missing, []string{"nobody"}) {
		t.Fatal(missing, err)
	}
	var got []string
	for _, r := range chosen {
		got = append(got, r.Name+" "+strings.Join(r.On, ","))
	}
	all := strings.Join(usual, ",")
	if d := cmp.Diff([]string{"team failed,budget 75%", "mine " + all + ",medal", "asked " + all, "ntfy://xxxxx " + all, "env:Y " + all}, got); d != "" {
		t.Error(d)
	}
	if _, err := list.Named("tean", "/x/config.hcl"); err == nil || !strings.Contains(err.Error(), `no receiver "tean". Did you mean "team"? It defines team, mine, asked, in /x/config.hcl`) {
		t.Error(err)
	}
	if _, err := (Receivers{}).Named("x", "none"); err == nil || !strings.HasSuffix(err.Error(), "It defines none") {
		t.Error(err)
	}
	for text, want := range map[string]string{
		`notify "a" {}`: "needs either to, an address, or command",
		`notify "a" { to = "http://host/topsecret" }`:                            "an address is like slack://",
		`notify "a" { to = "topsecret" }`:                                        "an address is like slack://",
		`notify "a" { to = "logger://topsecret:x" } }`:                           "config.hcl",
		"notify \"a\" {\n on = [\"fail\"]\n to = \"env:X\"\n}":                   "no kind of message. Did you mean \"failed\"?",
		"notify \"a\" {\n on = [\"budget 101%\"]\n to = \"env:X\"\n}":            "no kind of message",
		"notify \"a\" {\n to = \"env:X\"\n command = [\"topsecret\"]\n}":         "needs either",
		"notify \"a\" {\n to = [\"slack://topsecret\"]\n}":                       "string required",
		"notify \"a\" {\n too = \"slack://topsecret\"\n}":                        "Unsupported argument",
		"notify \"a\" {\n to = \"slack://topsecret\n}":                           "Invalid multi-line string",
		`notify "" { to = "env:X" }`:                                             "needs a name",
		`notify "a" { command = [""] }`:                                          "command begins with the program",
		"notify \"a\" {\n to = \"env:X\"\n}\nnotify \"a\" {\n to = \"env:X\"\n}": "a receiver \"a\" already",
	} {
		_, sources, diags := Read(write(t, text, 0o600))
		var shown strings.Builder
		if err := diag.WriteText(&shown, sources, diags, 80, false); err != nil || strings.Contains(shown.String(), "not available") || strings.Contains(shown.String(), "topsecret") {
			t.Errorf("%s: shown as %s, %v", text, shown.String(), err)
		}
		if said := diags.Error(); !diags.HasErrors() || !strings.Contains(said, want) && !strings.Contains(fmt.Sprint(diags), want) || strings.Contains(said, "topsecret") {
			t.Errorf("%s: %v", text, said)
		}
	}
	if _, _, diags := Read(write(t, "", 0o666)); !strings.Contains(diags.Error(), "can be written by other users, who could have commands run") {
		t.Error(diags)
	}
	open := write(t, "", 0o600)
	if err := os.Chmod(filepath.Dir(open), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, _, diags := Read(open); !strings.Contains(diags.Error(), "can be written by other users") {
		t.Error(diags)
	}
	if _, _, diags := Read("/dev/zero"); !diags.HasErrors() {
		t.Error("a device was read")
	}
}

// TestJSON: what a command gets.
func TestJSON(t *testing.T) {
	doc, err := json.Marshal(Test)
	if want := `{"kind":"test","count":1,"title":"mleflow: test message","text":"mleflow notify test sent this."}`; err != nil || string(doc) != want {
		t.Error(string(doc), err)
	}
}
