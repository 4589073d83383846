package telemetry

import (
	"context"
	"strings"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
)

// spansOf sends the spans of events and returns them by name.
func spansOf(t *testing.T, events ...event.Event) map[string]*otlp.Span {
	t.Helper()
	s := newServer(t, 0)
	to, err := Open(context.Background(), Options{Collector: s.URL + "/v1/traces", Env: none})
	if err != nil {
		t.Fatal(err)
	}
	run := NewRun(to, &history.Past{Info: history.Info{ID: "r", Name: "p.hcl"}}, nil)
	run.attempts["step.grade.g"] = "step.agent-run.a"
	for _, e := range events {
		run.Add(context.Background(), e)
	}
	if _, _, err := to.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	named := map[string]*otlp.Span{}
	for _, x := range s.spans {
		named[x.Name+strings.Repeat("'", len(x.Events))] = x
	}
	return named
}

func at(seconds int64) event.At { return event.At{Time: time.Unix(seconds, 0)} }

// values returns the attributes of a span or an event as text.
func values[H interface{ GetAttributes() []*common.KeyValue }](h H) map[string]string {
	got := map[string]string{}
	for _, a := range h.GetAttributes() {
		got[a.Key] = strings.ReplaceAll(a.Value.String(), " ", "") // protobuf adds spaces at random
	}
	return got
}

// TestTries: each try of an attempt is a span, while other steps note their retries.
func TestTries(t *testing.T) {
	got := spansOf(t,
		event.RunStarted{At: at(1), Run: "r"},
		event.StepStarted{At: at(2), Address: "step.agent-run.a", Kind: "agent-run", Try: 1},
		event.StepPhase{At: at(3), Address: "step.agent-run.a", Phase: step.Phase{Name: step.Running, Started: time.Unix(3, 0)}},
		event.StepPhase{At: at(4), Address: "step.agent-run.a", Phase: step.Phase{Name: step.Running, Started: time.Unix(3, 0)}},
		event.StepRetry{At: at(5), Address: "step.agent-run.a", Try: 1, Error: "the machine failed"},
		event.StepStarted{At: at(6), Address: "step.agent-run.a", Kind: "agent-run", Try: 2},
		event.StepFinished{At: at(9), Address: "step.agent-run.a", Kind: "agent-run", Status: event.Ran, LastTry: 2, Outputs: map[string]string{"outcome": `"timed_out"`}},
		event.StepStarted{At: at(9), Address: "step.download.d", Kind: "download", Try: 1},
		event.StepRetry{At: at(10), Address: "step.download.d", Try: 1, Error: "reset"},
		event.StepStarted{At: at(11), Address: "step.download.d", Kind: "download", Try: 2},
		event.StepFinished{At: at(12), Address: "step.download.d", Kind: "download", Status: event.Failed, LastTry: 2, Error: "not found"},
		event.StepFinished{At: at(12), Address: "step.prepare.p", Kind: "prepare", Status: event.Skipped, Error: "step.download.d"},
		event.RunFinished{At: at(13), Run: "r", Status: event.Failed, Failed: 1},
	)
	for name, want := range map[string]struct {
		from, to uint64
		message  string
	}{
		"invoke_agent'":    {2, 5, "the machine failed"},
		"invoke_agent":     {6, 9, "the attempt ended with timed_out"},
		"step.agent-run.a": {2, 9, ""},
		"step.download.d'": {9, 12, "not found"},
		"step.prepare.p":   {12, 12, ""},
		"mleflow run":      {1, 13, "1 steps failed"},
	} {
		x := got[name]
		if x == nil {
			t.Errorf("there is no span %s", name)
			continue
		}
		if x.StartTimeUnixNano != want.from*1e9 || x.EndTimeUnixNano != want.to*1e9 || x.Status.GetMessage() != want.message {
			t.Errorf("%s is from %d to %d: %v", name, x.StartTimeUnixNano, x.EndTimeUnixNano, x.Status)
		}
	}
	if len(got) != 6 {
		t.Errorf("got %d spans", len(got))
	}
}

// TestSnapshots: scores over time are events at the moments of the snapshots.
func TestSnapshots(t *testing.T) {
	got := spansOf(t,
		event.StepStarted{At: at(2), Address: "step.agent-run.a", Kind: "agent-run", Try: 1},
		event.StepPhase{At: at(3), Address: "step.agent-run.a", Phase: step.Phase{Name: step.Running, Started: time.Unix(3, 0)}},
		event.StepFinished{At: at(2000), Address: "step.agent-run.a", Kind: "agent-run", Status: event.Ran, Outputs: map[string]string{"outcome": `"finished"`}},
		event.StepStarted{At: at(2001), Address: "step.grade.g", Kind: "grade", Try: 1},
		event.StepFinished{At: at(2002), Address: "step.grade.g", Kind: "grade", Status: event.Ran, Outputs: map[string]string{
			"curve":   `[{"seconds":600,"outcome":"scored","score":0.5,"medal":"none"},{"seconds":1200,"outcome":"invalid","score":null,"medal":"none"}]`,
			"outcome": `"scored"`, "score": "0.75", "medal": `"bronze"`,
		}},
	)
	g := got["step.grade.g'''"]
	if g == nil {
		t.Fatalf("got %v", got)
	}
	for i, want := range []struct {
		seconds uint64
		score   string
		label   string
	}{{603, "double_value:0.5", "none"}, {1203, "", "none"}, {2002, "double_value:0.75", "bronze"}} {
		e := g.Events[i]
		a := values(e)
		if e.Name != "gen_ai.evaluation.result" || e.TimeUnixNano != want.seconds*1e9 || a["gen_ai.evaluation.score.value"] != want.score || !strings.Contains(a["gen_ai.evaluation.score.label"], want.label) {
			t.Errorf("event %d is %v", i, e)
		}
	}
	if a := values(g); a["mleflow.score"] != "double_value:0.75" || len(g.Links) != 1 || string(g.Links[0].SpanId) != string(got["step.agent-run.a"].SpanId) {
		t.Errorf("the grade is %v", g)
	}
}
