package event

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// every member with fields that are not zero.
var members = []Event{
	RunStarted{At: at, Run: "r", Pipeline: "p.hcl", Steps: 3, ToRun: 1, Cached: 1, Deferred: 1, Resumed: "q", ExpectedMillis: 5, Blocks: []Block{{Block: "step.a.b", Steps: 3}}},
	StepStarted{At: at, Address: `step.a.b["k"]`, Kind: "a", Try: 2, ExpectedMillis: 7, CPUs: 0.5, MemoryBytes: 1 << 30, Devices: []string{"gpu=0"}},
	StepProgress{At: at, Address: "step.a.b", Progress: step.Progress{What: "x.csv", Done: 1, Total: 2, Unit: "bytes"}},
	StepPhase{At: at, Address: "step.a.b", Phase: step.Phase{Name: step.Running, Files: 1, TotalFiles: 2, Bytes: 3, TotalBytes: 4, Started: at.Time, LimitMillis: 5, MemoryBytes: 6, Submission: step.SubmissionInvalid, Reason: "no", Spent: step.Spent{Requests: 7, Tokens: 8, Cost: 9}}},
	Waiting{At: at, For: []Wait{{Resource: "gpu", Steps: 1, Next: "step.a.b", Holders: 2, Elsewhere: true}}},
	ExpectedEnd{At: at, End: at.Time, Unknown: 1},
	StepWaiting{At: at, Address: "step.a.b", Bytes: 5, Holders: 2, Message: "waits"},
	Preflight{At: at, Address: "step.a.b", Subject: "toy", Place: "kaggle", Bytes: 1, Files: 2, NeedBytes: 3, Credential: "ok", Rules: "missing",
		Link: "https://x", Verdict: PreflightFailed, Error: "no", Note: "n"},
	PreflightFinished{At: at, OK: 1, Failed: 2, Unknown: 3, Bytes: 4, NeedBytes: 5},
	StepJob{At: at, Address: "step.a.b", On: "lab", Job: "mleflow-00", State: JobRunning, Node: "n1", Starts: 2, GPUs: 1, Adopted: true, Reason: "Evicted", Message: "m"},
	StepLog{At: at, Address: "step.a.b", Line: `say "hello" <&>`},
	StepRetry{At: at, Address: "step.a.b", Try: 1, WaitMillis: 1000, Error: "busy"},
	StepFinished{At: at, Address: "step.a.b", Kind: "a", Status: Failed, Action: "00", LastTry: 1, DurationMillis: 3, Error: "boom", Outputs: map[string]string{"tree": "tree:00"}},
	RunFinished{At: at, Run: "r", Status: Failed, Ran: 1, Cached: 2, Failed: 3, Skipped: 4, Cancelled: 5, DurationMillis: 6},
	Evaluated{At: at, Evaluation: plan.Evaluation{Name: "x", Agents: []string{"a", "b"}, Over: "step.grade.score", Decide: "any_medal", Difference: 5, Confidence: 0.95, Budget: 12, Round: 1, Attempts: 4, Next: 2, Decision: "undecided", Estimate: 1, Low: -2, High: 3}},
	OutputValue{At: at, Name: "board", Value: "a\nb"},
	Publishing{At: at, From: "output.board", To: "results/board", Progress: step.Progress{Done: 1, Total: 3, Unit: "files", Bytes: 10, TotalBytes: 30}},
	Published{At: at, From: "output.board", To: "results/board", Unchanged: true},
	Steered{At: at, Request: step.Request{ID: "1", Time: at.Time, Act: step.Extend, Address: "step.a.b", ByMillis: 1000, Author: "me@here", Reason: "more"}, Effect: "it goes on"},
	Stalled{At: at, Address: "step.a.b", Stall: step.Stall{Since: at.Time, Evidence: step.Signs{Log: at.Time}, Act: step.Stop, Over: true}},
	Warning{At: at, Address: "step.a.b", Message: "careful"},
}

var at = At{Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}

func TestEncodeDecode(t *testing.T) {
	if len(members) != len(types) {
		t.Fatalf("%d members are tested, %d exist", len(members), len(types))
	}
	for _, want := range members {
		line, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(line), `{"type":"`+TypeOf(want)+`",`) || strings.Contains(string(line), "\n") {
			t.Errorf("line %s", line)
		}
		got, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDecodeOtherOrder(t *testing.T) {
	got, err := Decode([]byte(`{"name": "n", "value": "v", "type": "output"}`))
	if err != nil || got.(OutputValue).Value != "v" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{``, `{`, `{"type":"nonsense"}`, `[]`, `{"type":"output","name":1}`} {
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestEncodeUnlisted refuses an event that could not be decoded.
func TestEncodeUnlisted(t *testing.T) {
	if line, err := Encode(struct{ At }{at}); err == nil {
		t.Errorf("line %s", line)
	}
}
