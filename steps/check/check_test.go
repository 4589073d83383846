package check_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/steps/check"
	"github.com/mleflow/mleflow/steps/steptest"
)

func newBench(t *testing.T) *steptest.Bench {
	t.Helper()
	catalog, err := competitions.Load(fstest.MapFS{"toy/competition.hcl": {Data: []byte(`competition "toy" {
	  title       = "Toy"
	  complexity  = "demo"
	  description = "A toy."
	  answers     = "private/test.csv"
	  sample      = "public/sample_submission.csv"
	  public_labels "Toys" {
	    url       = "https://example.org/toys"
	    covers    = "all"
	    note      = "The same."
	    loaders   = ["toys"]
	    reference = "https://example.org/toys"
	  }
	  prepare {}
	  grade { metric = "accuracy" }
	  medals { scores = [1, 0.5] }
	}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return steptest.New(check.Kind(catalog, nil))
}

func attempt(t *testing.T, b *steptest.Bench, code, submission string) map[string]cty.Value {
	return map[string]cty.Value{
		"competition": cty.StringVal("toy"),
		"attempt": cty.ObjectVal(map[string]cty.Value{
			"code": b.Tree(t, map[string]string{"main.py": code}), "logs": b.Tree(t, nil), "submission": b.Tree(t, map[string]string{"submission.csv": submission}),
			"transcript": b.Tree(t, nil), "network_log": b.Blob(t, ""), "validation_log": b.Blob(t, ""), "shim_log": b.Blob(t, ""),
		}),
		"data": b.Tree(t, map[string]string{"sample_submission.csv": "id,y\na,0\nb,0\n"}),
	}
}

// TestCheck: what is found is in the report and the log, the same bytes each time;
// an honest attempt has none.
func TestCheck(t *testing.T) {
	b := newBench(t)
	args := attempt(t, b, "import mlebench.grade\nopen('/srv/x')\n", "id,y\na,0\nb,0\n")
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Run(t, args)
	if err != nil || again["findings"].Ref != out["findings"].Ref {
		t.Errorf("%v: the findings are %v, then %v", err, out["findings"].Ref, again["findings"].Ref)
	}
	text := b.Text(t, out["findings"].Ref)
	for _, want := range []string{`"rule": "grader-import"`, `"file": "code/main.py"`, `"rule": "sample-copy"`, `"rule": "outside-data"`, `"hand-labelled"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %s:\n%s", want, text)
		}
	}
	if string(out["warnings"].JSON) != "2" || string(out["notes"].JSON) != "1" || !strings.Contains(b.Log(), "warning grader-import code/main.py:1: ") {
		t.Errorf("%s warnings, %s notes, log %q", out["warnings"].JSON, out["notes"].JSON, b.Log())
	}
	_, err = b.Run(t, attempt(t, b, "from openml.datasets import get_dataset as get\nget(\n  'toys')\n", "id,y\na,1\nb,0\n"))
	if err != nil || !strings.Contains(b.Log(), "warning known-data code/main.py:3: It names Toys, which has the labels of all hidden rows.") {
		t.Errorf("%v: a fetch of the labels is not found: %q", err, b.Log())
	}
	out, err = b.Run(t, attempt(t, b, "import pandas\n", "id,y\na,1\nb,0\n"))
	if err != nil || strings.Contains(b.Text(t, out["findings"].Ref), string(evidence.Warning)) || string(out["notes"].JSON) != "0" {
		t.Errorf("%v: an honest attempt has %s", err, b.Text(t, out["findings"].Ref))
	}
}

// TestRules: only the rules that are asked for are applied; one that is not there is
// an error that names those that are.
func TestRules(t *testing.T) {
	b := newBench(t)
	args := attempt(t, b, "import mlebench.grade\n", "id,y\na,0\nb,0\n")
	args["rules"] = cty.ListVal([]cty.Value{cty.StringVal("sample-copy")})
	out, err := b.Run(t, args)
	if err != nil || string(out["warnings"].JSON) != "1" {
		t.Errorf("%v: %s warnings", err, out["warnings"].JSON)
	}
	args["rules"] = cty.ListVal([]cty.Value{cty.StringVal("x")})
	if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), `no rule "x"; there are grader-import,`) {
		t.Errorf("error %v", err)
	}
}
