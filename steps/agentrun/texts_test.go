package agentrun_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

// The texts of the toy as if the reference had them.
const (
	referenceText  = "# Toy\n\nThe original,\r\nto the byte. \n"
	referenceRules = "The rules are in /home/instructions.txt."
)

func textsBench(t *testing.T) *steptest.Bench {
	t.Helper()
	return steptest.New(agentrun.Kind(agentrun.Deps{
		Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()}, Runtimes: executor.NewRegistry(process.Runtime("")),
		Repository: &competitions.Repository{Instructions: map[competitions.Task]competitions.Pin{
			competitions.TaskReference: {Path: "environment/instructions.txt", SHA256: digest.Of([]byte(referenceRules)).String()},
		}},
	}))
}

func withTexts(b *steptest.Bench, t *testing.T, description, rules string) map[string]cty.Value {
	t.Helper()
	args := values(b, t, shell("cp $DATA_DIR/description.md $INSTRUCTIONS_FILE $MLEFLOW_NOTES $CODE_DIR"))
	args["task"] = cty.StringVal("reference")
	args["texts"] = cty.ObjectVal(map[string]cty.Value{"description": b.Blob(t, description), "instructions": b.Blob(t, rules)})
	return args
}

// TestReferenceTexts sees that the agent reads the reference's texts to the
// byte, also where the data bring another description, and ours next to them.
func TestReferenceTexts(t *testing.T) {
	for name, extra := range map[string]map[string]string{"plain": nil, "data with another": {"description.md": "# Other\n"}} {
		t.Run(name, func(t *testing.T) {
			b := textsBench(t)
			b.Limits.Timeout = 60e9
			args := withTexts(b, t, referenceText, referenceRules)
			if extra != nil {
				args["data"] = b.Tree(t, extra)
			}
			r := run(t, b, args)
			if r.Code["description.md"] != referenceText || r.Code["instructions.txt"] != referenceRules {
				t.Errorf("the agent read %q and %q", r.Code["description.md"], r.Code["instructions.txt"])
			}
			for _, part := range []string{"1m0s", "Seed          7", "$MLEFLOW_GATEWAY", "/submission/submission.csv", "Network       none"} {
				if !strings.Contains(r.Code["mleflow.txt"], part) {
					t.Errorf("%q is not in mleflow.txt:\n%s", part, r.Code["mleflow.txt"])
				}
			}
		})
	}
}

// TestWrongTexts sees that no agent starts on texts that are not the pinned
// ones.
func TestWrongTexts(t *testing.T) {
	for name, texts := range map[string][2]string{
		"description": {referenceText + "\n", referenceRules}, "instructions": {referenceText, strings.ToUpper(referenceRules)},
	} {
		t.Run(name, func(t *testing.T) {
			b := textsBench(t)
			_, err := b.Run(t, withTexts(b, t, texts[0], texts[1]))
			if !errors.Is(err, step.ErrMismatch) || !strings.Contains(err.Error(), digest.Of([]byte(texts[0])).String()) && !strings.Contains(err.Error(), digest.Of([]byte(texts[1])).String()) {
				t.Errorf("no mismatch that names what was found: %v", err)
			}
		})
	}
}

func TestTaskMistakes(t *testing.T) {
	for task, want := range map[string]string{"reference": "needs texts", "obfuscated": `use task = "own"`} {
		b := textsBench(t)
		args := values(b, t, shell("true"))
		args["task"] = cty.StringVal(task)
		if _, err := b.Kind.New(b.Args(t, args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", task, err)
		}
	}
}

// TestTextsDecide sees that the key goes by the texts, not by the step that
// gave them, and that each task is a condition of the result.
func TestTextsDecide(t *testing.T) {
	key := func(change func(map[string]cty.Value, *steptest.Bench)) string {
		b := textsBench(t)
		values := withTexts(b, t, referenceText, referenceRules)
		change(values, b)
		args := b.Args(t, values)
		s, err := b.Kind.New(args)
		if err != nil {
			t.Fatal(err)
		}
		h, err := step.Key(b.Kind, args, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range step.Conditions(args, s) {
			if c == "task="+values["task"].AsString() {
				return h.Sum().String()
			}
		}
		t.Errorf("conditions %v", step.Conditions(args, s))
		return ""
	}
	own := func(v map[string]cty.Value, _ *steptest.Bench) { v["task"] = cty.StringVal("own") }
	bare := func(v map[string]cty.Value, b *steptest.Bench) { own(v, b); delete(v, "texts") }
	reference := func(map[string]cty.Value, *steptest.Bench) {}
	if key(own) != key(bare) || key(own) == key(reference) {
		t.Error("the key is not that of the texts")
	}
}
