package rules_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rules"
)

// TestForbiddenPathsAreEvidence lets attempts ask for each thing that is not there for
// agents, and looks for it in the evidence behind their labels. Calls that mlebench refused
// change no label.
func TestForbiddenPathsAreEvidence(t *testing.T) {
	for name, tt := range map[string]struct {
		code, shim string
		rule       string
		want       grading.Integrity
	}{
		"answers":             {code: "cat /srv/prepared/private/test.csv", rule: "private-data", want: grading.Suspect},
		"cache":               {code: "ls /lab/mleflow/objects/ab", rule: "private-data", want: grading.Suspect},
		"other attempts":      {code: "cat /lab/cache/kept/*/home/submission/submission.csv", rule: "private-data", want: grading.Suspect},
		"attempts that begin": {code: "cat /lab/cache/tmp/X/wstep-*/home/code/a.py", rule: "private-data", want: grading.Suspect},
		"validity files":      {code: "tail ../host/validation.jsonl", rule: "private-data", want: grading.Suspect},
		"refused calls":       {shim: `{"kind":"answers","call":"answers","file":"x.py","line":1}`, rule: "refused-calls", want: grading.Clean},
		"its own folders":     {code: "cat /home/data/train.csv ../data/host/train.csv validation.jsonl mleflow.txt kept/models", want: grading.Clean},
	} {
		t.Run(name, func(t *testing.T) {
			of := &rules.Attempt{Code: fstest.MapFS{"run.sh": {Data: []byte(tt.code + "\n")}}, Shim: strings.NewReader(tt.shim)}
			found, err := rules.Check(t.Context(), of, rules.All())
			if err != nil {
				t.Fatal(err)
			}
			a := &results.Attempt{Check: &results.Check{Findings: found.Findings}}
			stats := `{}`
			if tt.shim != "" {
				stats = `{"shim_calls":1}`
			}
			if _, err := a.MadeBy(`"finished"`, stats); err != nil {
				t.Fatal(err)
			}
			i := a.Integrity()
			has := slices.ContainsFunc(i.Evidence, func(f evidence.Finding) bool { return f.Rule == tt.rule })
			if i.Label != tt.want || has != (tt.rule != "") || len(i.Lines()) < len(i.Evidence) {
				t.Errorf("%+v", i)
			}
		})
	}
}
