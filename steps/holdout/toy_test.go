package holdout_test

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/steps/holdout"
	"github.com/mleflow/mleflow/steps/steptest"
)

const head = "title = \"Toy\"\ncomplexity = \"demo\"\ndescription = \"A toy.\"\n"

const toyBlock = `
	  prepare {
	    locals {
	      parts = train_test_split(csv("train.csv"), { test_size = 0.5, random_state = 0 })
	    }
	    public {
	      table "train.csv" { rows = parts.train }
	      table "test.csv" { rows = drop(parts.test, "y") }
	      table "sample_submission.csv" { rows = fill(select(parts.test, "id", "y"), ["y"], 0) }
	      files "pictures/{id}.txt" { each = concat(parts.train.id, parts.test.id) }
	    }
	    private {
	      table "test.csv" { rows = select(parts.test, "id", "y") }
	    }
	  }`

// toyData are public files: the training part and a test part.
func toyData() map[string]string {
	files := map[string]string{
		"train.csv": "id,x,y\n1,a,1\n2,b,0\n3,c,1\n4,d,0\n5,e,1\n6,f,0\n7,g,1\n8,h,0\n9,i,1\n10,j,0\n11,k,1\n12,l,0\n",
		"test.csv":  "id,x\n21,u\n22,v\n", "sample_submission.csv": "id,y\n21,0\n22,0\n", "LICENCE.txt": "free\n",
	}
	for _, id := range strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 21 22") {
		files["pictures/"+id+".txt"] = "picture " + id
	}
	return files
}

func runToy(t *testing.T, blocks string, data map[string]string) (*steptest.Bench, cache.Outputs, error) {
	t.Helper()
	b := toyBench(t, blocks)
	out, err := b.Run(t, toyArgs(t, b, data))
	return b, out, err
}

func toyArgs(t *testing.T, b *steptest.Bench, data map[string]string) map[string]cty.Value {
	return map[string]cty.Value{"competition": cty.StringVal("toy"), "data": b.Tree(t, data)}
}

func toyBench(t *testing.T, blocks string) *steptest.Bench {
	t.Helper()
	return steptest.New(holdout.Kind(toyCatalog(t, blocks)))
}

func toyCatalog(t *testing.T, blocks string) *competitions.Catalog {
	t.Helper()
	cat, err := competitions.Load(fstest.MapFS{"toy/competition.hcl": {Data: []byte("competition \"toy\" {\n" + head + blocks + `
	  grade {
	    metric  = "accuracy"
	    id      = "id"
	    targets = ["y"]
	  }
	  medals { scores = [1, 0.5] }
	}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// TestRun splits twelve training rows in halves.
func TestRun(t *testing.T) {
	b, out, err := runToy(t, toyBlock, toyData())
	if err != nil {
		t.Fatal(err)
	}
	want := toyData()
	public, inputs := b.Files(t, out["public"].Ref), b.Files(t, out["inputs"].Ref)
	if strings.Count(public["train.csv"], "\n") != 7 || strings.Count(inputs["test.csv"], "\n") != 7 {
		t.Errorf("not halves: %q, %q", public["train.csv"], inputs["test.csv"])
	}
	want["train.csv"] = public["train.csv"]
	if diff := cmp.Diff(want, public); diff != "" {
		t.Errorf("public (-want +got):\n%s", diff)
	}
	private := b.Files(t, out["private"].Ref)["test.csv"]
	for _, row := range strings.Split(strings.TrimSpace(private), "\n")[1:] {
		id, label, _ := strings.Cut(row, ",")
		if all := toyData()["train.csv"]; !strings.Contains(all, "\n"+id+",") || !strings.Contains(inputs["test.csv"], "\n"+id+",") || !strings.Contains(inputs["sample_submission.csv"], "\n"+id+",0\n") {
			t.Errorf("%s is no held-out row", id)
		} else if strings.Contains(public["train.csv"], "\n"+id+",") || !strings.Contains(all[strings.Index(all, "\n"+id+","):], ","+label+"\n") {
			t.Errorf("row %s: its label is public, or not %s", id, label)
		}
	}
	if len(inputs) != 2 || strings.Count(private, "\n") != 7 {
		t.Errorf("inputs %v, private %q", inputs, private)
	}
	task := maps.Clone(public)
	maps.Copy(task, inputs) // which lie over the inputs of the test
	if diff := cmp.Diff(task, b.Files(t, out["task"].Ref)); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
	var split holdout.Split
	steptest.Decode(t, out["split"], &split)
	if split.Kind != "random" || split.Rows != 6 || split.Share < 0.3 || split.Share > 0.6 {
		t.Errorf("split %+v", split)
	}
}

// TestLabels refuses a split whose held-out labels an agent could read.
func TestLabels(t *testing.T) {
	more := toyData()
	more["all.csv"] = strings.ReplaceAll(more["train.csv"], "x", "z")
	leaky := strings.Replace(toyBlock, `table "test.csv" {`, `copy "all.csv" {}
	      table "test.csv" {`, 1)
	if _, _, err := runToy(t, leaky, more); err == nil || !strings.Contains(err.Error(), "held-out labels") || !strings.Contains(err.Error(), "all.csv") {
		t.Errorf("labels in a file that both parts share: %v", err)
	}
	for _, change := range []string{
		`validation { training = ["all.csv"] }`, // it is copied whole
		`validation { test = ["train.csv"] }`,   // it stays whole
		"validation {\n locals {\n parts = { train = csv(\"train.csv\"), test = head(csv(\"train.csv\"), 6) }\n }\n }\n", // the rows stay
	} {
		if _, _, err := runToy(t, leaky+"\n"+change, more); err == nil || !strings.Contains(err.Error(), "held-out labels") {
			t.Errorf("%s: %v", change, err)
		}
	}
	answers := strings.Replace(toyBlock, `drop(parts.test, "y")`, `select(parts.test, "id", "y")`, 1)
	if _, _, err := runToy(t, answers, toyData()); err == nil || !strings.Contains(err.Error(), "held-out labels") {
		t.Errorf("the answers as inputs: %v", err)
	}
}

// TestDuplicates names held-out rows and files that are also in the training part.
func TestDuplicates(t *testing.T) {
	data := toyData()
	data["train.csv"] = "id,x,y\n1,a,1\n2,b,0\n3,c,1\n4,d,0\n5,e,1\n6,f,0\n7,a,1\n8,b,0\n9,c,1\n10,d,0\n11,e,1\n12,f,0\n"
	_, out, err := runToy(t, toyBlock, data)
	if err != nil {
		t.Fatal(err)
	}
	var split holdout.Split
	steptest.Decode(t, out["split"], &split)
	if len(split.Notes) != 1 || !strings.Contains(split.Notes[0], "test rows are also in public/train.csv") {
		t.Errorf("notes %q", split.Notes)
	}
}

// TestLint finds what agents with a validation score would get, without a step.
func TestLint(t *testing.T) {
	twice := toyData()
	twice["train.csv"] = "id,x,y\n1,a,1\n2,b,0\n3,c,1\n4,d,0\n5,e,1\n6,f,0\n7,a,1\n8,b,0\n9,c,1\n10,d,0\n11,e,1\n12,f,0\n"
	answers := strings.Replace(toyBlock, `drop(parts.test, "y")`, `select(parts.test, "id", "y")`, 1)
	for name, tt := range map[string]struct {
		blocks string
		data   map[string]string
		want   string // a rule
	}{"clean": {toyBlock, toyData(), ""}, "duplicates": {toyBlock, twice, "duplicates"}, "labels": {answers, toyData(), "reachable-answers"}} {
		b, cat := toyBench(t, tt.blocks), toyCatalog(t, tt.blocks)
		def, err := cat.Get("toy")
		if err != nil {
			t.Fatal(err)
		}
		ref, err := tree.Import(t.Context(), b.Store, writeFiles(t, tt.data), tree.ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		env := &step.Env{Store: b.Store, WorkDir: steptest.WorkDir(t), Log: io.Discard, Progress: func(step.Progress) {}}
		found, err := holdout.Lint(t.Context(), env, def, ref)
		if err != nil || (len(found) > 0) != (tt.want != "") || len(found) > 0 && (found[0].Rule != tt.want || !strings.HasPrefix(found[0].Message, "with a validation score")) {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// writeFiles writes files and returns their folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestValidation takes the block of the definition.
func TestValidation(t *testing.T) {
	b, out, err := runToy(t, toyBlock+`
	  validation {
	    kind = "time"
	    locals {
	      rows  = csv("train.csv")
	      parts = { train = head(rows, 10), test = skip(rows, 10) }
	    }
	  }`, toyData())
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Files(t, out["private"].Ref)["test.csv"]; got != "id,y\n11,1\n12,0\n" {
		t.Errorf("private %q", got)
	}
	cat, err := competitions.Load(fstest.MapFS{"toy/competition.hcl": {Data: []byte("competition \"toy\" {\n" + head + toyBlock + "\nvalidation {\n locals {\n parts = nothing\n }\n }\n grade {\n metric = \"accuracy\"\n }\n}")}})
	if err != nil {
		t.Fatal(err)
	}
	def, err := cat.Get("toy")
	if err != nil {
		t.Fatal(err)
	}
	if found := kit.Lint(def, metric.All()); !slices.ContainsFunc(found, func(f kit.Finding) bool { return strings.Contains(f.Message, "Unknown name nothing") }) {
		t.Errorf("the lint of an unknown name: %v", found)
	}
	for block, want := range map[string]string{
		`validation { kind = "odd" }`:        "Unknown kind of split",
		`validation { training = ["[a"] }`:   "Wrong pattern",
		`validation { trainng = ["a"] }`:     "Unknown attribute trainng",
		"validation {\n public {\n }\n }":    "Unknown block public",
		"validation {\n }\n validation {\n}": "Second block validation",
	} {
		if _, diags := competitions.Parse([]byte("competition \"toy\" {\n"+toyBlock+"\n"+block+"\n}"), "toy", fstest.MapFS{}); !slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return d.Summary == want }) {
			t.Errorf("%s: %v", block, diags)
		}
	}
}

// TestKey sees that the key follows the block validation and the data, and that no other
// step's key does.
func TestKey(t *testing.T) {
	key := func(blocks string, data map[string]string) map[string]string {
		b := toyBench(t, blocks)
		return b.Key(t, toyArgs(t, b, data))
	}
	first := key(toyBlock, toyData())
	if cmp.Equal(first, key(toyBlock+"\nvalidation { training = [\"a\"] }", toyData())) {
		t.Error("another split has the same key")
	}
	more := toyData()
	more["more"] = ""
	if cmp.Equal(first, key(toyBlock, more)) {
		t.Error("other data have the same key")
	}
	if diff := cmp.Diff(first, key("# a comment\n"+toyBlock, toyData())); diff != "" {
		t.Errorf("a comment changes the key:\n%s", diff)
	}
}
