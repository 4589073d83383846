package agentrun_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
	"github.com/mleflow/mleflow/steps/steptest"
)

// The toy competition, of whose training data two rows are held out.
var (
	heldOutPublic = map[string]string{
		"train.csv": "id,x,y\n1,0,a\n2,5,b\n", "test.csv": toyData["test.csv"], "sample_submission.csv": toyData["sample_submission.csv"],
	}
	heldOutInputs  = map[string]string{"test.csv": "id,x\n3,0.1\n4,5.1\n", "sample_submission.csv": "id,y\n3,a\n4,a\n"}
	heldOutPrivate = map[string]string{"test.csv": "id,y\n3,a\n4,b\n"}
)

// validating returns arguments with a validation score.
func validating(b *steptest.Bench, t testing.TB, agent cty.Value, queries int64) map[string]cty.Value {
	args := values(b, t, agent)
	args["feedback"], args["queries"] = cty.StringVal("validation"), cty.NumberIntVal(queries)
	args["validation"] = cty.ObjectVal(map[string]cty.Value{
		"public": b.Tree(t, heldOutPublic), "inputs": b.Tree(t, heldOutInputs), "private": b.Tree(t, heldOutPrivate),
	})
	return args
}

// score sends a file that a shell writes to /score.
func score(t *testing.T, lines string) string {
	return `printf "id,y\n` + lines + `" > $AGENT_DIR/v.csv; ` + askSelf(t) + ` score $AGENT_DIR/v.csv; `
}

// queriesOf returns the log of the queries and the names of the kept files.
func queriesOf(t *testing.T, b *steptest.Bench, out cache.Outputs) (list []validity.Query, kept []string) {
	t.Helper()
	files := b.Files(t, out["queries"].Ref)
	list, lost := validity.ParseQueries([]byte(files[validity.QueriesFile]))
	if lost > 0 {
		t.Errorf("%d lines are lost", lost)
	}
	delete(files, validity.QueriesFile)
	for name, text := range files {
		if name != validity.KeptFile(digest.Of([]byte(text)).String()) {
			t.Errorf("%s is %q", name, text)
		}
		kept = append(kept, name)
	}
	return list, kept
}

// TestValidationScore sees the data without the held-out rows, and asks for scores.
func TestValidationScore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	agent := shell(`cat $DATA_DIR/train.csv $VALIDATION_DIR/test.csv; cp $MLEFLOW_NOTES $CODE_DIR/notes; ls $VALIDATION_DIR | tr '\n' ' '; echo;` +
		`printf "id,z\n3,a\n4,b\n" > $AGENT_DIR/w.csv; ` + askSelf(t) + ` score $AGENT_DIR/w.csv; ` + score(t, `3,a\n4,a\n`) + score(t, `3,a\n4,b\n`) + score(t, `3,a\n4,a\n`) + score(t, `11,a\n12,b\n`) + score(t, `3,b\n4,a\n`) +
		`echo; cp $DATA_DIR/sample_submission.csv $SUBMISSION_DIR/submission.csv`)
	out, err := b.Run(t, validating(b, t, agent, 2))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	printed := b.Files(t, out["logs"].Ref)["output.log"]
	want := heldOutPublic["train.csv"] + heldOutInputs["test.csv"] + `sample_submission.csv test.csv ` + "\n" +
		`422 {"error":"Submission invalid! column \"y\" is missing","is_lower_better":false,"left":2}
200 {"best":0.5,"is_lower_better":false,"left":1,"score":0.5}
200 {"best":1,"is_lower_better":false,"left":0,"score":1}
200 {"best":1,"is_lower_better":false,"left":0,"score":0.5}
403 {"error":"No queries are left: all 2 are used.","is_lower_better":false,"left":0}
403 {"error":"No queries are left: all 2 are used.","is_lower_better":false,"left":0}
`
	if strings.ReplaceAll(printed, "\n\n", "\n") != want {
		t.Errorf("printed\n%s\nwant\n%s", printed, want)
	}
	list, kept := queriesOf(t, b, out)
	if len(list) != 3 || len(kept) != 2 || list[0].Number != 0 || *list[1].Score != 0.5 || *list[2].Score != 1 || list[2].Number != 2 || list[2].Rank != 1 {
		t.Errorf("queries %+v, kept %q", list, kept)
	}
	if notes := b.Files(t, out["code"].Ref)["notes"]; !strings.Contains(notes, "You have 2 queries.") || !strings.Contains(notes, "/score") {
		t.Errorf("notes:\n%s", notes)
	}
	for _, name := range []string{"submission", "code", "logs", "queries"} {
		for path, text := range b.Files(t, out[name].Ref) {
			if strings.Contains(path, "labels") || text == heldOutPrivate["test.csv"] && !strings.HasPrefix(path, digest.Of([]byte(text)).String()) {
				t.Errorf("%s/%s has the labels", name, path)
			}
		}
	}
}

// TestFeedbackInKey sees that the feedback counts in the key with a validation score only.
func TestFeedbackInKey(t *testing.T) {
	b := newBench(t)
	plain := values(b, t, shell("true"))
	key, set := keyOf(t, b, plain)
	if !slices.Contains(set, "feedback=verdicts") {
		t.Errorf("conditions %q", set)
	}
	plain["feedback"], plain["queries"], plain["every"], plain["report"] = cty.StringVal("verdicts"), cty.NumberIntVal(7), cty.StringVal("1m"), cty.StringVal("rank")
	if other, _ := keyOf(t, b, plain); other != key {
		t.Error("the feedback is in the key of an attempt with verdicts")
	}
	seen := map[digest.ActionID]string{key: "verdicts"}
	for _, c := range []struct {
		queries       int64
		every, report string
		want          string
	}{
		{50, "", "score", "validation(50)"}, {7, "", "score", "validation(7)"}, {50, "10m", "score", "validation(50/every:10m)"},
		{50, "", "rank", "validation(50/rank)"}, {7, "90s", "better", "validation(7/every:1m30s/better)"},
	} {
		args := validating(b, t, shell("true"), c.queries)
		args["report"] = cty.StringVal(c.report)
		if c.every != "" {
			args["every"] = cty.StringVal(c.every)
		}
		key, set := keyOf(t, b, args)
		if !slices.Contains(set, "feedback="+c.want) || seen[key] != "" {
			t.Errorf("%s: conditions %q, same key as %q", c.want, set, seen[key])
		}
		seen[key] = c.want
	}
	other := validating(b, t, shell("true"), 50)
	split := other["validation"].AsValueMap()
	split["private"] = b.Tree(t, map[string]string{"test.csv": "id,y\n3,b\n4,b\n"})
	other["validation"] = cty.ObjectVal(split)
	if key, _ := keyOf(t, b, other); seen[key] != "" {
		t.Error("the labels are not in the key")
	}
}

// TestDefaultsInKey sees that the defaults of the feedback and of record_tokens are no fields
// of the key, as in the keys of attempts from before these arguments, and that another value
// of record_tokens is one.
func TestDefaultsInKey(t *testing.T) {
	b := newBench(t)
	recording := func(server string) map[string]cty.Value {
		return values(b, t, withModels("true", block("main", "openai", "http://provider.local/v1", map[string]cty.Value{"record_tokens": cty.StringVal(server)})))
	}
	h, _ := b.Hash(t, recording(""))
	for _, f := range h.Fields() {
		for _, late := range []string{"feedback", "queries", "every", "report", "validation", "record_tokens", "acp tools"} {
			if step.IsCondition(f.Label) {
				continue // it is there with every value
			}
			if f.Label == late || strings.HasPrefix(f.Label, late+".") || strings.HasSuffix(f.Label, "."+late) {
				t.Errorf("%s = %q is in the key", f.Label, f.Value)
			}
		}
	}
	seen := map[digest.ActionID]string{h.Sum(): "none"}
	for _, server := range []string{"vllm", "sglang"} {
		key, _ := keyOf(t, b, recording(server))
		if seen[key] != "" {
			t.Errorf("record_tokens = %q has the key of %q", server, seen[key])
		}
		seen[key] = server
	}
}

// TestFeedbackRefused sees arguments that cannot be.
func TestFeedbackRefused(t *testing.T) {
	b := newBench(t)
	for want, change := range map[string]func(map[string]cty.Value){
		"holdout":       func(a map[string]cty.Value) { delete(a, "validation") },
		"is not from 1": func(a map[string]cty.Value) { a["queries"] = cty.NumberIntVal(0) },
		"too often":     func(a map[string]cty.Value) { a["every"] = cty.StringVal("1ms") },
		"VALIDATION_DIR": func(a map[string]cty.Value) {
			a["env"] = cty.MapVal(map[string]cty.Value{"VALIDATION_DIR": cty.StringVal("x")})
		},
		"is not a time": func(a map[string]cty.Value) { a["every"] = cty.StringVal("often") },
	} {
		args := validating(b, t, shell("true"), 50)
		change(args)
		if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

// TestQueriesSurvive sees that no resume, requeue or fork refills the queries.
func TestQueriesSurvive(t *testing.T) {
	b, _, _ := benchOnDisk(t)
	sign := signOf(t)
	b.Limits.Timeout = time.Minute
	line := `echo run >> $CODE_DIR/runs; n=$(wc -l < $CODE_DIR/runs); ` + score(t, `3,a\n4,$n\n`) + `touch ` + sign + `; [ $n -gt 1 ] || sleep 60`
	attempt := func(onLoss string, seed int64) map[string]cty.Value {
		args := validating(b, t, shell(line), 3)
		args["on_loss"], args["seed"] = cty.StringVal(onLoss), cty.NumberIntVal(seed)
		return args
	}
	interrupted := func(args map[string]cty.Value) {
		t.Helper()
		_ = os.Remove(sign) // a run that ended made it, too
		if _, err := b.RunIn(t, until(t, sign), steptest.WorkDir(t), args); err == nil {
			t.Fatal("not interrupted")
		}
	}
	left := func(args map[string]cty.Value) (list []validity.Query) {
		t.Helper()
		out, err := b.Run(t, args)
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Log())
		}
		list, _ = queriesOf(t, b, out)
		return list
	}
	first := attempt("resume", 1)
	interrupted(first)
	key, _ := keyOf(t, b, first)
	fork, err := checkpoint.Place{Cache: b.Store, Attempt: key}.Choose(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if list := left(first); len(list) != 2 || list[0].Number != 1 || list[1].Number != 2 {
		t.Errorf("resumed: %+v", list)
	}
	forked := attempt("resume", 1)
	forked["fork"] = cty.StringVal(fork.String())
	if list := left(forked); len(list) != 2 || list[1].Number != 2 {
		t.Errorf("forked: %+v", list)
	}
	// One that a person puts back keeps its files and its count.
	requeued := attempt("resume", 3)
	_ = os.Remove(sign)
	answered := askWhen(t, b, sign, step.Requeue)
	if _, err := b.Run(t, requeued); !errors.Is(err, step.ErrRequeued) {
		t.Fatalf("not requeued: %v", err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	b.Requests = nil
	if list := left(requeued); len(list) != 2 || list[1].Number != 2 {
		t.Errorf("requeued: %+v", list)
	}
	// An agent that begins again has other files, and the same count.
	again := attempt("resume", 2)
	delete(again, "on_loss")
	again["agent"] = shell(strings.ReplaceAll(line, "$CODE_DIR/runs", sign+".runs"))
	interrupted(again)
	if list := left(again); len(list) != 2 || list[1].Number != 2 {
		t.Errorf("begun again: %+v", list)
	}
}

// scoringAgent asks for scores with the package mlebench.
const scoringAgent = `
cat > $CODE_DIR/solve.py <<'EOP'
import os
from pathlib import Path
import mlebench
from mlebench.grade_helpers import InvalidSubmissionError
def score(labels):
    at = Path(os.environ["AGENT_DIR"]) / "v.csv"
    at.write_text("id,y\n" + "".join("%d,%s\n" % (3 + i, y) for i, y in enumerate(labels)))
    try:
        return mlebench.score(at)["score"]
    except (mlebench.Refused, InvalidSubmissionError, RuntimeError) as e:
        return "%s: %s" % (type(e).__name__, e)
for labels in ("aa", "a", "ab", "bb"):
    print(score(labels))
EOP
PYTHONDONTWRITEBYTECODE=1 python3 $CODE_DIR/solve.py
`

// TestScoreOfShim asks by mlebench.score, with a validation score and without one.
func TestScoreOfShim(t *testing.T) {
	t.Parallel()
	needPython(t)
	for want, args := range map[string]func(*steptest.Bench, cty.Value) map[string]cty.Value{
		"0.5\nInvalidSubmissionError: Submission invalid! there are 1 rows; expected 2\n1\nRuntimeError: there is no score: status 403, No queries are left: all 2 are used.\n": func(b *steptest.Bench, agent cty.Value) map[string]cty.Value {
			return validating(b, t, agent, 2)
		},
		strings.Repeat("Refused: mlebench.score: this attempt has no validation score\n", 4): func(b *steptest.Bench, agent cty.Value) map[string]cty.Value {
			return values(b, t, agent)
		},
	} {
		b := newBench(t)
		with := args(b, shell(scoringAgent))
		with["shim"] = cty.True
		if r := run(t, b, with); r.Logs["output.log"] != want {
			t.Errorf("printed\n%s\nwant\n%s", r.Logs["output.log"], want)
		}
	}
}
