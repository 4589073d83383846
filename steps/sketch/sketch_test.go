package sketch_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/steps/sketch"
	"github.com/mleflow/mleflow/steps/steptest"
)

// newBench returns a bench with one competition, in which some rows are scored.
func newBench(t *testing.T) *steptest.Bench {
	t.Helper()
	cat, err := competitions.Load(fstest.MapFS{"toy/competition.hcl": {Data: []byte(`competition "toy" {
	  title       = "Toy"
	  complexity  = "demo"
	  description = "A toy."
	  answers     = "private/test.csv"
	  sample      = "public/sample_submission.csv"
	  prepare {}
	  grade {
	    metric  = "accuracy"
	    id      = "id"
	    targets = ["y"]
	    only    = { column = "keep", equals = 1 }
	    require { same_ids = true }
	  }
	  medals { scores = [1, 0.5] }
	}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return steptest.New(sketch.Kind(cat))
}

func values(t *testing.T, b *steptest.Bench, public, private map[string]string) map[string]cty.Value {
	t.Helper()
	return map[string]cty.Value{"competition": cty.StringVal("toy"), "prepared": cty.ObjectVal(map[string]cty.Value{
		"public": b.Tree(t, public), "private": b.Tree(t, private),
	})}
}

func TestSketch(t *testing.T) {
	b := newBench(t)
	public := map[string]string{"sample_submission.csv": "id,y\n1,a\n2,a\n3,a\n", "train.csv": "id,y\n4,b\n"}
	out, err := b.Run(t, values(t, b, public, map[string]string{"test.csv": "id,y,keep\n1,cat,1\n2,dog,0\n3,cat,1\n"}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"rows.csv":              "\"id\",\"mleflow_scored\"\n\"1\",\"True\"\n\"2\",\"False\"\n\"3\",\"True\"\n",
		"sample_submission.csv": public["sample_submission.csv"],
	}
	if diff := cmp.Diff(want, b.Files(t, out["sketch"].Ref)); diff != "" {
		t.Errorf("sketch (-want +got):\n%s", diff)
	}
	other, err := b.Run(t, values(t, b, public, map[string]string{"test.csv": "id,y,keep\n1,dog,1\n2,cat,0\n3,dog,1\n"}))
	if err != nil || other["sketch"].Ref != out["sketch"].Ref {
		t.Errorf("other labels have another sketch: %v, %v", other["sketch"], err)
	}
}

func TestSketchLacksFiles(t *testing.T) {
	sample, answers := map[string]string{"sample_submission.csv": "id,y\n1,a\n"}, map[string]string{"test.csv": "id,y,keep\n1,a,1\n"}
	for name, tt := range map[string]struct {
		public, private map[string]string
		want            string
	}{
		"sample":  {map[string]string{"train.csv": ""}, answers, "find public/sample_submission.csv"},
		"answers": {sample, map[string]string{"other.csv": ""}, "find private/test.csv"},
		"id":      {sample, map[string]string{"test.csv": "name,y,keep\n1,a,1\n"}, "id"},
		"column":  {sample, map[string]string{"test.csv": "id,y\n1,a\n"}, "keep"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			_, err := b.Run(t, values(t, b, tt.public, tt.private))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
