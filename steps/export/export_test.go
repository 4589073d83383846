package export_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/steps/export"
	"github.com/mleflow/mleflow/steps/steptest"
)

func bench(t *testing.T, program string) *steptest.Bench {
	t.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return steptest.New(export.Kind(export.Deps{Catalog: catalog, Grader: grading.Local{Metrics: metric.All()},
		Program: func() (digest.ContentID, error) { return digest.Of([]byte(program)), nil }}))
}

// report is a report of an agent and a seed.
func report(t *testing.T, b *steptest.Bench, version, agent, seed string) cty.Value {
	t.Helper()
	g := grading.Graded{Report: grading.Report{CompetitionID: "demo-digits", Detail: grading.Detail{CompetitionVersion: version}}, Labels: map[string]string{"agent": agent, "seed": seed}}
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return steptest.Under(b.Blob(t, string(text)), "isolation=sandbox")
}

// attempt is an agent-run step that submitted a text.
func attempt(t *testing.T, b *steptest.Bench, submission string) cty.Value {
	t.Helper()
	of := func(output string, v cty.Value) cty.Value {
		a := *v.EncapsulatedValue().(*step.Artifact)
		a.From, a.Output = "step.agent-run.solve", output
		return step.NewArtifact(&a)
	}
	return cty.ObjectVal(map[string]cty.Value{
		"code": of("code", b.Tree(t, nil)), "logs": of("logs", b.Tree(t, map[string]string{"output.log": "said"})),
		"submission": of("submission", b.Tree(t, map[string]string{"submission.csv": submission})), "outcome": cty.StringVal("finished"),
		"stats": cty.ObjectVal(map[string]cty.Value{
			"wall_seconds": cty.NumberFloatVal(1.5), "cpu_seconds": cty.NumberIntVal(1), "peak_memory_bytes": cty.NumberIntVal(7), "exit_code": cty.NumberIntVal(0),
			"validations": cty.NumberIntVal(2), "shim_calls": cty.NumberIntVal(0), "lost_services": cty.ListValEmpty(cty.String),
			"models": cty.MapValEmpty(step.TypeOf[results.ModelUse]()),
		}),
	})
}

func values(t *testing.T, b *steptest.Bench, format string) map[string]cty.Value {
	t.Helper()
	return map[string]cty.Value{
		"format":   cty.StringVal(format),
		"reports":  cty.ListVal([]cty.Value{report(t, b, "v1", "a", "0"), report(t, b, "v1", "b/../c", "0")}),
		"attempts": cty.ListVal([]cty.Value{attempt(t, b, "x"), attempt(t, b, "y")}),
	}
}

// TestRunGroups has a group for each agent, whose name is no path, and nothing of a run.
func TestRunGroups(t *testing.T) {
	b := bench(t, "p")
	out, err := b.Run(t, values(t, b, "run-group"))
	if err != nil {
		t.Fatal(err)
	}
	files := b.Files(t, out["results"].Ref)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		group, rest, _ := strings.Cut(name, "/")
		if group != "1970-01-01T00-00-00-GMT_run-group_a" && group != "1970-01-01T00-00-00-GMT_run-group_b_.._c" {
			t.Errorf("%s is in no group", name)
		}
		if rest == "metadata.json" && (!strings.Contains(files[name], `"isolation=sandbox"`) || strings.Contains(files[name], `"mleflow"`)) {
			t.Errorf("%s: %s", name, files[name])
		}
	}
	if len(files) != 10 { // metadata, submission, output.log, run.log and an empty folder of two
		t.Errorf("%v", slices.Sorted(maps.Keys(files)))
	}
}

// TestTable has the rows of the reports, with what the attempts say.
func TestTable(t *testing.T) {
	b := bench(t, "p")
	out, err := b.Run(t, values(t, b, "json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(b.Text(t, out["results"].Ref)), &rows); err != nil || len(rows) != 2 {
		t.Fatalf("%v %v", rows, err)
	}
	for name, want := range map[string]any{"agent": "a", "wall_seconds": 1.5, "peak_memory_bytes": 7.0, "attempt_outcome": "finished", "isolation": "sandbox", "run": nil, "complexity": "demo"} {
		if rows[0][name] != want {
			t.Errorf("%s is %v, want %v", name, rows[0][name], want)
		}
	}
}

// TestRefused: what no run group can have.
func TestRefused(t *testing.T) {
	b := bench(t, "p")
	same := values(t, b, "run-group")
	same["reports"] = cty.ListVal([]cty.Value{report(t, b, "v1", "a", "0"), report(t, b, "v1", "a", "0")})
	same["attempts"] = cty.ListVal([]cty.Value{attempt(t, b, "x"), attempt(t, b, "x")})
	later := values(t, b, "run-group")
	later["reports"] = cty.ListVal([]cty.Value{report(t, b, "v2", "a", "0"), report(t, b, "v2", "a", "1")})
	foreign := attempt(t, b, "x").AsValueMap()
	foreign["submission"] = b.Tree(t, map[string]string{"submission.csv": "answers"})
	other := values(t, b, "run-group")
	other["attempts"] = cty.ListVal([]cty.Value{cty.ObjectVal(foreign), attempt(t, b, "y")})
	for want, v := range map[string]map[string]cty.Value{
		"label them with different seeds": same, "no attempt is left": later, `must be the output "submission" of a step of kind agent-run`: other,
	} {
		if _, err := b.Run(t, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestKey: another program makes other tasks, and the same tables and groups.
func TestKey(t *testing.T) {
	for _, format := range []string{"csv", "run-group", "harbor"} {
		var keys []map[string]string
		for _, program := range []string{"p", "q"} {
			b := bench(t, program)
			v := values(t, b, format)
			if format == "harbor" {
				v = map[string]cty.Value{"format": cty.StringVal(format), "prepared": cty.MapVal(map[string]cty.Value{
					"demo-digits": cty.ObjectVal(map[string]cty.Value{"public": b.Tree(t, nil), "private": b.Tree(t, nil)}),
				})}
			}
			keys = append(keys, b.Key(t, v))
		}
		if same := maps.Equal(keys[0], keys[1]); same != (format != "harbor") {
			t.Errorf("%s: the keys are the same: %v\n%v", format, same, keys)
		}
	}
}
