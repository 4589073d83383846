package grading_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/metric"
)

// unseen are the golden submissions whose verdict needs the answers: in jigsaw
// some rows are not scored, and which is nowhere public.
var unseen = []string{"jigsaw-toxic-comment-classification-challenge/nan-in-unscored-row.csv"}

// TestFormOfGolden sees that the public sample is enough to tell every
// submission that the reference scores from every one that it does not.
func TestFormOfGolden(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(goldenFolder + "/*.tar.zst")
	if err != nil || len(cases) < 22 {
		t.Fatalf("%d golden cases (%v)", len(cases), err)
	}
	differ := make(chan string, 100)
	t.Run("all", func(t *testing.T) {
		for _, path := range cases {
			id := strings.TrimSuffix(filepath.Base(path), ".tar.zst")
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				def, err := catalog.Get(id)
				if err != nil {
					t.Fatal(err)
				}
				checkGolden(t, def, filepath.Join(unpack(t, path), id), differ)
			})
		}
	})
	close(differ)
	var got []string
	for name := range differ {
		got = append(got, name)
	}
	if diff := cmp.Diff(unseen, got); diff != "" {
		t.Errorf("submissions whose verdict is not the reference's (-want +got):\n%s", diff)
	}
}

func checkGolden(t *testing.T, def *competitions.Definition, dir string, differ chan<- string) {
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var verdicts map[string]verdict
	if err := json.Unmarshal(data, &verdicts); err != nil {
		t.Fatal(err)
	}
	form, err := grading.NewForm(def, metric.All(), nil, filepath.Join(dir, "prepared", def.Layout.Sample))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range verdicts {
		err := form.Check(filepath.Join(dir, "submissions", name))
		var bad *grading.Invalid
		switch {
		case err != nil && !errors.As(err, &bad):
			t.Errorf("%s: %v", name, err)
		case (err == nil) != (v.Status == "ok"):
			differ <- def.ID + "/" + name
		case err != nil && strings.Contains(bad.Reason, "answers"):
			t.Errorf("%s: the reason speaks of answers: %s", name, bad.Reason)
		}
	}
}
