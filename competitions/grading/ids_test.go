package grading

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// idCase are two files and what pandas says of their ids; made by testdata/ids.py.
type idCase struct {
	Answers, Submission string
	Said                map[string]json.RawMessage
}

// TestIDsAgainstPandas pairs files whose ids are around 2^53, 2^63 and 2^64, of
// several types, and have gaps. A server that knows the sketch of the answers says the
// same.
func TestIDsAgainstPandas(t *testing.T) {
	data, err := os.ReadFile("testdata/ids.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []idCase }
	if err := json.Unmarshal(data, &file); err != nil || len(file.Cases) < 500 {
		t.Fatalf("%d cases: %v", len(file.Cases), err)
	}
	for _, name := range []string{"same_ids", "same_id_order", "same_id_set", "all_ids", "known_ids", "join", "overlap"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range file.Cases {
				if want, ok := c.Said[name]; ok {
					c.check(t, name, string(want))
				}
			}
		})
	}
}

func (c idCase) check(t *testing.T, name, want string) {
	t.Helper()
	block := "metric = \"mae\"\nid = \"id\"\ntargets = [\"x\"]\nalign = \"position\"\nrequire { " + name + " = true }"
	pairs := name == "join" || name == "overlap"
	if pairs {
		block = "metric = \"mae\"\nid = \"id\"\ntargets = [\"x\"]\nalign = \"" + name + "\""
	}
	def := define(t, block, leaderboard)
	plan, diags := Decode(def, metric.All(), nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	score, err := plan.Score(readText(t, c.Submission), readText(t, c.Answers))
	var bad *Invalid
	switch got := "true"; {
	case err != nil && !errors.As(err, &bad):
		t.Errorf("%s: %v\n%s\n%s", name, err, c.Answers, c.Submission)
		return
	case pairs:
		if got = "null"; err == nil {
			got = strings.TrimSuffix(table.FormatFloat(score.Value), ".0")
		}
		if got != strings.TrimSuffix(want, ".0") {
			t.Errorf("%s: score %s (%v), pandas' %s\nanswers\n%s\nsubmission\n%s", name, got, err, want, c.Answers, c.Submission)
		}
	default:
		// Rows are paired by position afterwards: only the requirement's own refusal counts.
		if err != nil && bad.Rule == name {
			got = "false"
		}
		if got != want && want != "null" {
			t.Errorf("%s: %s (%v), pandas' %s\nanswers\n%s\nsubmission\n%s", name, got, err, want, c.Answers, c.Submission)
		}
	}
	if _, own := plan.Score(readText(t, c.Answers), readText(t, c.Answers)); own == nil { // else no server can try the metric
		c.checkForm(t, name, block, err == nil)
	}
}

// checkForm compares the verdict of a server with the grader's.
func (c idCase) checkForm(t *testing.T, name, block string, valid bool) {
	t.Helper()
	dir := t.TempDir()
	path := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	answers := path("answers.csv", c.Answers)
	var sketch strings.Builder
	def := define(t, block, leaderboard)
	if err := WriteSketch(&sketch, def, metric.All(), nil, answers, answers); err != nil {
		t.Fatal(err)
	}
	form, err := NewForm(def, metric.All(), nil, answers, path("sketch.csv", sketch.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := form.Check(path("submission.csv", c.Submission)); (err == nil) != valid {
		t.Errorf("%s: the server says %v, the grader %v\nanswers\n%s\nsubmission\n%s", name, err, valid, c.Answers, c.Submission)
	}
}

func readText(t *testing.T, text string) *table.Table {
	t.Helper()
	out, err := table.ReadCSV(strings.NewReader(text), table.ReadOptions{})
	if err != nil {
		t.Fatal(fmt.Errorf("%w in %q", err, text))
	}
	return out
}
