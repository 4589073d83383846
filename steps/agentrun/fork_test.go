package agentrun_test

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
	"github.com/mleflow/mleflow/steps/steptest"
)

// keyOf returns the key of an attempt, and the conditions of its results.
func keyOf(t *testing.T, b *steptest.Bench, values map[string]cty.Value) (digest.ActionID, []string) {
	t.Helper()
	key, set := b.Hash(t, values)
	return key.Sum(), set
}

// diary is an agent that writes the seconds of its life to a journal, and submits it.
const diary = `i=0; while [ $i -lt 4 ]; do echo "$WHO $i" >> $AGENT_DIR/journal; [ $i = 1 ] && touch "$SIGN"; i=$((i+1)); sleep 1; done
cp $AGENT_DIR/journal $SUBMISSION_DIR/submission.csv; echo "$TIME_LIMIT_SECS $MLEFLOW_RESUMED" > $CODE_DIR/env`

func forkArgs(b *steptest.Bench, t *testing.T, who, sign string) map[string]cty.Value {
	args := durableArgs(b, t, "resume", diary)
	args["env"] = cty.MapVal(map[string]cty.Value{"WHO": cty.StringVal(who), "SIGN": cty.StringVal(sign)})
	return args
}

// TestFork begins an attempt from the middle of one that has its result.
func TestFork(t *testing.T) {
	t.Parallel()
	b, _, _ := benchOnDisk(t)
	sign := signOf(t)
	b.Limits.Timeout = time.Minute
	first := forkArgs(b, t, "first", sign)
	key, plain := keyOf(t, b, first)
	first["checkpoint_keep"] = cty.StringVal("2s")
	if with, _ := keyOf(t, b, first); with != key {
		t.Error("checkpoint_keep is in the key")
	}
	if got := run(t, b, first); strings.Count(got.Submission["submission.csv"], "first") != 4 {
		t.Fatalf("got %q", got.Submission)
	}
	where := checkpoint.Place{Cache: b.Store, Attempt: key}
	fork, err := where.Choose(t.Context(), 1500*time.Millisecond)
	if err != nil || fork.At < 2*time.Second {
		t.Fatalf("%v, %v", fork, err)
	}
	second := forkArgs(b, t, "second", sign)
	second["fork"] = cty.StringVal(fork.String())
	delete(second, "on_loss")
	if own, set := keyOf(t, b, second); own == key || len(set) != len(plain)+1 || !slices.Contains(set, "forked="+key.Short()+"@"+fork.At.String()) {
		t.Errorf("key %v, conditions %q", own, set)
	}
	got := run(t, b, second)
	text := got.Submission["submission.csv"]
	if n := strings.Count(text, "first"); n < 2 || n > 4 || strings.Count(text, "second") != 4 {
		t.Errorf("got %q", text)
	}
	left, resumed, _ := strings.Cut(got.Code["env"], " ")
	if seconds, _ := strconv.ParseFloat(left, 64); resumed != "1\n" || math.Abs(60-fork.At.Seconds()-seconds) > 2 {
		t.Errorf("the agent saw %q", got.Code["env"])
	}
	if got.Stats.WallSeconds < 6 || !strings.Contains(strings.Join(b.Warnings(), "\n"), "is a fork") {
		t.Errorf("wall time %v, warnings %q", got.Stats.WallSeconds, b.Warnings())
	}
}

// TestForkLost sees that a fork that was lost goes on from its own checkpoint.
func TestForkLost(t *testing.T) {
	t.Parallel()
	b, _, _ := benchOnDisk(t)
	sign := signOf(t)
	interrupt := func(args map[string]cty.Value) {
		t.Helper()
		if _, err := b.RunIn(t, until(t, sign), steptest.WorkDir(t), args); err == nil {
			t.Fatal("not interrupted")
		}
		if err := os.Remove(sign); err != nil {
			t.Fatal(err)
		}
	}
	first := forkArgs(b, t, "first", sign)
	interrupt(first)
	key, _ := keyOf(t, b, first)
	fork, err := checkpoint.Place{Cache: b.Store, Attempt: key}.Choose(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	second := forkArgs(b, t, "second", sign)
	second["fork"] = cty.StringVal(fork.String())
	interrupt(second)
	text := run(t, b, second).Submission["submission.csv"]
	if strings.Count(text, "first") != 2 || strings.Count(text, "second") != 6 || b.Resumes() != 2 {
		t.Errorf("got %q after %d resumes", text, b.Resumes())
	}
}

// TestForkRefused sees what a fork cannot begin from.
func TestForkRefused(t *testing.T) {
	b := newBench(t)
	sign := signOf(t)
	b.Limits.Timeout = time.Minute
	args := forkArgs(b, t, "second", sign)
	key, _ := keyOf(t, b, args)
	own := checkpoint.Origin{Competition: args["competition"].AsString() + " v1", Isolation: "none"}
	for at, c := range map[time.Duration]struct {
		has  checkpoint.Manifest
		want string
	}{
		time.Second:     {checkpoint.Manifest{Used: time.Second, Origin: checkpoint.Origin{Competition: "other v1", Isolation: "none"}}, "was at other v1"},
		2 * time.Second: {checkpoint.Manifest{Used: 2 * time.Second, Origin: checkpoint.Origin{Competition: own.Competition}}, "isolation"},
		time.Minute:     {checkpoint.Manifest{Used: time.Minute, Origin: own}, "time limit"},
		time.Hour:       {checkpoint.Manifest{Used: time.Minute, Origin: own}, "there is no checkpoint"},
	} {
		fork := checkpoint.Fork{Attempt: key, At: at}
		if err := (checkpoint.Place{Cache: b.Store, Attempt: key}).Keep(t.Context(), &checkpoint.Checkpoint{Manifest: c.has}); err != nil {
			t.Fatal(err)
		}
		args["fork"] = cty.StringVal(fork.String())
		if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", at, err, c.want)
		}
	}
	for _, bad := range []string{"", "x@6h", key.String(), key.String() + "@1.5s", key.String() + "@-1s"} {
		if _, err := checkpoint.ParseFork(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
