package results_test

import (
	"testing"

	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
)

// TestIntegrity labels attempts by what was observed of them.
func TestIntegrity(t *testing.T) {
	note := evidence.Finding{Rule: "outside-data", Severity: evidence.Note, File: "code/a.py"}
	warning := evidence.Finding{Rule: "probing", Severity: evidence.Warning, File: "validation_log"}
	unread := `{"opened":{"files":3,"opened":0}}`
	for name, tt := range map[string]struct {
		end, stats string
		check      *results.Check
		conditions []string
		valid      bool
		want       grading.Integrity
		text       string
		unknown    int
	}{
		"looked at":            {`"finished"`, `{}`, &results.Check{Findings: []evidence.Finding{note}}, nil, true, grading.Clean, "clean", 0},
		"a warning":            {`"finished"`, `{}`, &results.Check{Findings: []evidence.Finding{note, warning}}, nil, true, grading.Suspect, "suspect: probing", 0},
		"not looked at":        {`"finished"`, `{}`, nil, nil, true, grading.Unknown, "unknown", 1},
		"not isolated":         {`"finished"`, `{}`, &results.Check{}, []string{"isolation=none"}, true, grading.Unknown, "unknown", 1},
		"warned, not isolated": {`"finished"`, `{}`, &results.Check{Findings: []evidence.Finding{warning}}, []string{"isolation=none"}, true, grading.Suspect, "suspect: probing", 1},
		"of a file":            {``, ``, nil, nil, true, grading.Unknown, "unknown", 1},
		"changed data":         {`"data_changed"`, `{}`, &results.Check{Findings: []evidence.Finding{warning}}, nil, true, grading.Tampered, "tampered: data-changed, probing", 0},
		"opened nothing":       {`"finished"`, unread, &results.Check{}, nil, true, grading.Suspect, "suspect: unread-data", 0},
		"gave up":              {`"finished"`, unread, &results.Check{}, nil, false, grading.Clean, "clean", 0},
		"not known":            {`"finished"`, `{"opened":{"files":3,"opened":0,"partly":"lost"}}`, &results.Check{}, nil, true, grading.Clean, "clean", 0},
		"took a port":          {`"finished"`, `{"lost_services":["proxy"]}`, &results.Check{}, nil, true, grading.Suspect, "suspect: lost-services", 0},
		"refused calls":        {`"finished"`, `{"shim_calls":2}`, &results.Check{}, nil, true, grading.Clean, "clean", 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := &results.Attempt{Check: tt.check}
			if _, err := a.MadeBy(tt.end, tt.stats); err != nil {
				t.Fatal(err)
			}
			a.Report.Conditions, a.Report.ValidSubmission = tt.conditions, tt.valid
			i := a.Integrity()
			if i.Label != tt.want || i.Text() != tt.text || len(i.Unknown) != tt.unknown {
				t.Errorf("got %+v, %q", i, i.Text())
			}
			if g := a.AsGraded(); g.IntegrityOf() != tt.want {
				t.Errorf("the report has %q", g.IntegrityOf())
			}
		})
	}
}
