package grading

import (
	"cmp"
	"math"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

func TestDecodeDiagnostics(t *testing.T) {
	for _, c := range []struct{ name, block, want string }{
		{"no metric", `targets = ["x"]`, "No metric"},
		{"unknown metric", `metric = "acuracy"`, "Did you mean accuracy?"},
		{"unknown attribute", "metric = \"accuracy\"\ntarget = [\"x\"]", "Did you mean targets?"},
		{"unknown rule", "metric = \"accuracy\"\nrequire { same_row = true }", "Did you mean same_rows?"},
		{"unknown block", "metric = \"accuracy\"\nrequires { same_rows = true }", "Unknown block requires"},
		{"nested block", "metric = \"accuracy\"\nrequire {\n x {}\n}", "Unexpected block x"},
		{"wrong parameter", "metric = \"kappa\"\nparams = { weight = \"quadratic\" }", `no parameter is named "weight" (known: weights)`},
		{"wrong choice", "metric = \"kappa\"\nparams = { weights = \"cubic\" }", `must be one of none, linear, quadratic`},
		{"wrong kind", "metric = \"kappa\"\nparams = { weights = 2 }", `must be a string`},
		{"missing parameter", "metric = \"f1\"", `parameter "average" (string) is missing`},
		{"wrong align", "metric = \"accuracy\"\nalign = \"sortd\"", "Did you mean sorted?"},
		{"wrong cells", "metric = \"accuracy\"\ncells = \"float\"", "Wrong value for cells"},
		{"strings no list", "metric = \"accuracy\"\nstrings = \"x\"", "expected a list of strings"},
		{"targets no list", "metric = \"accuracy\"\ntargets = \"x\"", "expected a list of strings"},
		{"truth of other length", "metric = \"accuracy\"\ntargets = [\"x\"]\ntruth = [\"a\", \"b\"]", "There are 1 targets, but 2 columns"},
		{"rule without id", "metric = \"accuracy\"\nrequire { same_ids = true }", "names no id column"},
		{"rule of wrong type", "metric = \"accuracy\"\nrequire { same_rows = 1 }", "expected true or false"},
		{"range of wrong type", "metric = \"accuracy\"\nrequire { between = 1 }", "expected [lowest, highest] or an object"},
		{"range with unknown field", "metric = \"accuracy\"\nrequire { between = { low = 1 } }", `no field is named "low"`},
		{"filter without id", "metric = \"accuracy\"\nonly = { column = \"x\", equals = 1 }", `it needs align = "sorted"`},
		{"filter without column", "metric = \"accuracy\"\nid = \"id\"\nonly = { equals = 1 }", "it names no column"},
		{"unknown local", "metric = \"accuracy\"\ntargets = none", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, diags := Decode(define(t, c.block, leaderboard), metric.All(), nil)
			if !diags.HasErrors() || !strings.Contains(diags.Error(), c.want) {
				t.Errorf("got %v, want %q in it", diags, c.want)
			}
			for _, d := range diags {
				if d.Subject == nil || d.Subject.Filename == "" {
					t.Errorf("%v has no range", d)
				}
			}
		})
	}
}

func TestDecodeReportsAllMistakes(t *testing.T) {
	_, diags := Decode(define(t, "metric = \"x\"\nalgn = 1\nrequire {\n  a = 1\n  b = 2\n}", leaderboard), metric.All(), nil)
	if len(diags) != 4 {
		t.Errorf("got %d diagnostics, want 4: %v", len(diags), diags)
	}
}

func TestDecodeReportsMistakesOfAProgramInOneOrder(t *testing.T) {
	grade := "metric = command({ command = [\"x\"], better = \"lower\", zeal = 1, timeout = 2, files = 3, memory_mib = 0 })"
	_, first := Decode(define(t, grade, leaderboard), metric.All(), nil)
	for range 20 {
		if _, diags := Decode(define(t, grade, leaderboard), metric.All(), nil); diags.Error() != first.Error() || len(diags) != 4 {
			t.Fatalf("got %v, want %v", diags, first)
		}
	}
}

func TestRulesAreDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.Name == "" || r.Doc == "" || r.Value == "" || seen[r.Name] {
			t.Errorf("rule %q lacks documentation or is there twice", r.Name)
		}
		seen[r.Name] = true
	}
	if diff := gocmp.Diff(len(rules), len(seen)); diff != "" {
		t.Error(diff)
	}
}

// TestAttributeExamples grades a submission with the example of every attribute in place of
// the lines of a plain block. Scores are computed by hand.
func TestAttributeExamples(t *testing.T) {
	answers := "id,label,corrected,Usage\n1,1,1,Public\n2,2,2,Private\n3,3,3,Private\n4,4,5,Public\n"
	plain := map[string]string{"metric": `metric = "mae"`, "id": `id = "id"`, "targets": `targets = ["label"]`}
	want := map[string]float64{ // |1-1|, |2-4|, |3-3|, |4-5|
		"metric": math.Sqrt(1.25), "params": 0.4, "truth": 0.5, "align": 2.25, "only": 1,
	}
	head := map[string]string{"rename": "id,prediction", "targets_by": "id,anything"}
	for _, a := range Attributes {
		block := a.Example
		for name, line := range plain {
			if !strings.Contains("\n"+a.Example, "\n"+name+" = ") {
				block += "\n" + line
			}
		}
		submission := cmp.Or(head[a.Name], "id,label") + "\n4,5\n3,3\n2,4\n1,1\n"
		report := gradeText(t, define(t, block, leaderboard), answers, submission)
		score, other := want[a.Name]
		if !other {
			score = 0.75
		}
		if report.ExactScore == nil || float64(*report.ExactScore) != score || a.Doc == "" {
			t.Errorf("%s: got %v (%s), want %v", a.Name, report.ExactScore, report.Reason, score)
		}
	}
}
