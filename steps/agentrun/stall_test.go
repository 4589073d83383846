package agentrun_test

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
	"github.com/mleflow/mleflow/steps/steptest"
)

// stalls collects what a bench reports of stalls.
type stalls struct {
	mu   sync.Mutex
	list []step.Stall
}

func (s *stalls) add(one step.Stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, one)
}

func stallArgs(b *steptest.Bench, t *testing.T, agent cty.Value, after, on string) map[string]cty.Value {
	args := values(b, t, agent)
	args["stalled_after"], args["on_stall"] = cty.StringVal(after), cty.StringVal(on)
	return args
}

// TestStalled has an agent that stands still until that was noticed, and then works until
// that was noticed.
func TestStalled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sign := signOf(t)
	var seen stalls
	b.Stalled = func(s step.Stall) {
		seen.add(s)
		if s.Over {
			sign += ".over"
		}
		if err := os.WriteFile(sign, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	got := run(t, b, stallArgs(b, t, shell(`echo hello; `+submits+`until [ -e `+sign+` ]; do sleep 1; done
		until [ -e `+sign+`.over ]; do echo work; sleep 0.2; done`), "2s", "notify"))
	if got.Outcome != "finished" || len(seen.list) != 2 || len(b.Steered()) > 0 {
		t.Fatalf("%s, %+v\n%s", got.Outcome, seen.list, b.Log())
	}
	s := seen.list[0]
	if s.Over || s.Act != "" || s.Since.IsZero() || s.Evidence.Log.IsZero() || s.Evidence.File.IsZero() || !s.Evidence.Model.IsZero() {
		t.Errorf("%+v", s)
	}
	if log := b.Log(); !strings.Contains(log, "mleflow: the agent stands still: no request to a model") || !strings.Contains(log, "mleflow: the agent works again") {
		t.Error(log)
	}
}

// TestNotStalled has agents that give one sign of work each, for several times as long as
// they may stand still.
func TestNotStalled(t *testing.T) {
	t.Parallel()
	later := func(*modeltest.Ask) modeltest.Fault { return modeltest.Fault{Status: 429, RetryAfter: "3600"} }
	for name, c := range map[string]struct {
		line  string
		fault func(*modeltest.Ask) modeltest.Fault
	}{
		"computes":             {line: `end=$(($(date +%s)+20)); while [ $(date +%s) -lt $end ]; do for i in 1 2 3 4 5 6 7 8 9; do :; done; done`},
		"writes its log":       {line: `for i in $(seq 40); do echo $i; sleep 0.5; done`},
		"writes a file":        {line: `for i in $(seq 40); do echo $i > $AGENT_DIR/file; sleep 0.5; done`},
		"writes a deep file":   {line: `mkdir -p $AGENT_DIR/a/b/c; for i in $(seq 40); do touch $AGENT_DIR/a/b/c/$i; sleep 0.5; done`},
		"waits for a provider": {line: chat + hello("m-1") + "sleep 20", fault: later},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Stalled = func(s step.Stall) { t.Errorf("%+v", s) }
			agent := shell(c.line)
			if c.fault != nil {
				url := modeltest.Start(t, &modeltest.Server{Key: canaryKey, Models: []string{"m-1"}, Fault: c.fault})
				agent = withModels(c.line, block("main", "openai", url+"/v1", nil))
			}
			run(t, b, stallArgs(b, t, agent, "8s", "stop"))
		})
	}
}

// TestOnStall stops an agent that stands still, whose submission is graded.
func TestOnStall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Requests = make(chan step.Asked, 1)
	b.Stalled = func(s step.Stall) {
		b.Requests <- step.Asked{Request: step.Request{Act: s.Act, Author: step.OnStall}, Answer: func(_ string, err error) {
			if err != nil {
				t.Error(err)
			}
		}}
	}
	got := run(t, b, stallArgs(b, t, shell(submits+"sleep 300"), "2s", "stop"))
	if words := strings.Join(b.Steered(), " "); got.Outcome != "stopped_early" || !regexp.MustCompile(`^stalled@\d+s$`).MatchString(words) {
		t.Errorf("%s, steered %q\n%s", got.Outcome, words, b.Log())
	}
}

// TestStallIsNotInKey: what follows from a stall is no field of the key.
func TestStallIsNotInKey(t *testing.T) {
	b := newBench(t)
	plain, _ := b.Hash(t, values(b, t, shell("true")))
	other, conditions := b.Hash(t, stallArgs(b, t, shell("true"), "2s", "stop"))
	if plain.Sum() != other.Sum() || strings.Contains(strings.Join(conditions, " "), "stall") {
		t.Errorf("%v, %v, %q", plain.Sum(), other.Sum(), conditions)
	}
}
